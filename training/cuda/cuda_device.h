// A GPU as a rank sees it: training/device.h on the CUDA runtime. What belongs to whoever allocates
// tensors comes in through CudaAllocator, so this needs no LibTorch.
#pragma once

#include <memory>

#include "training/device.h"

namespace penstock {

// Of LibTorch: torch_cuda_allocator() in training/cuda/torch_cuda_allocator.h.
class CudaAllocator {
 public:
  virtual ~CudaAllocator() = default;
  // On which the calling thread queues its work (a cudaStream_t).
  [[nodiscard]] virtual void* stream() const = 0;
  [[nodiscard]] virtual Bytes held() = 0;
  [[nodiscard]] virtual Bytes peak() = 0;
  virtual void reset_peak() = 0;
};

// Error{kMissingResource} when there is no GPU of this index.
std::unique_ptr<Device> make_cuda_device(int index, std::unique_ptr<CudaAllocator> allocator);

}  // namespace penstock
