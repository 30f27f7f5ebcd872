// The CPU as a Device.
#pragma once

#include <memory>

#include "training/device.h"

namespace penstock {

// Its memory figures are those of tensors that the calling thread allocates while the device
// exists, wherever they are freed. A rank makes its device on its own thread; at most one device
// per thread. LibTorch's allocator for the CPU is wrapped as long as there is any such device.
std::unique_ptr<Device> make_cpu_device();

class MemoryCount;

// While it exists, what this thread allocates is no device's: memory that is reserved and never
// written to, for example.
class UncountedMemory {
 public:
  UncountedMemory();
  UncountedMemory(const UncountedMemory&) = delete;
  UncountedMemory& operator=(const UncountedMemory&) = delete;
  ~UncountedMemory();

 private:
  std::shared_ptr<MemoryCount> count_;  // of the device that the thread has otherwise
};

}  // namespace penstock
