// A pool of a GPU's memory for messages between GPUs, with a stream of its own.
#pragma once

#include "core/values/units.h"
#include "profiler/link_pool.h"

namespace penstock {

// All zero. Error{kMissingResource} when there is no such GPU, or not so much memory.
LinkPool make_device_pool(int device, Bytes bytes);

// Of the whole device, and what of it was taken when this was called: by the contexts of this
// process and of all others.
struct DeviceMemory {
  Bytes total{}, taken{};
  bool operator==(const DeviceMemory&) const = default;
};
DeviceMemory device_memory(int device);

}  // namespace penstock
