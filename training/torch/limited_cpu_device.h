// The CPU as a device that is full at some point, as a GPU is.
#pragma once

#include <memory>

#include "core/values/units.h"
#include "training/device.h"

namespace penstock {

// As make_cpu_device(); memory beyond `limit` is refused: Error{kMissingResource}.
std::unique_ptr<Device> make_limited_cpu_device(Bytes limit);

}  // namespace penstock
