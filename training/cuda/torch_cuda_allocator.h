// What LibTorch knows of a GPU: the stream it works on and what its tensors hold. The only unit
// that includes LibTorch's CUDA headers.
#pragma once

#include <cstddef>
#include <memory>

#include "training/cuda/cuda_device.h"

namespace penstock {

// From now on the calling thread works on a stream of its own.
std::unique_ptr<CudaAllocator> torch_cuda_allocator(int device);

}  // namespace penstock
