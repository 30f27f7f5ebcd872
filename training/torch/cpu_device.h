// The CPU as a Device.
#pragma once

#include <memory>

#include "training/device.h"

namespace penstock {

// Its memory figures are those of tensors that the calling thread allocates while the device
// exists, wherever they are freed. A rank makes its device on its own thread; at most one device
// per thread. LibTorch's allocator for the CPU is wrapped as long as there is any such device.
std::unique_ptr<Device> make_cpu_device();

}  // namespace penstock
