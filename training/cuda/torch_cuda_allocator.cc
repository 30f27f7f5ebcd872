#include "training/cuda/torch_cuda_allocator.h"

#include <ATen/Functions.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>

namespace penstock {
namespace {

namespace caching = c10::cuda::CUDACachingAllocator;

// `auto`: the types of the statistics have moved between versions. Entry 0 is the aggregate of
// LibTorch's pools of small and of large blocks.
auto allocated_bytes(c10::DeviceIndex device) {
  return caching::getDeviceStats(device).allocated_bytes[0];
}

class TorchCudaAllocator : public CudaAllocator {
 public:
  // A stream of its own for the calling thread, which is a rank's: ranks that are threads on one
  // GPU would else all queue their work on the default stream.
  explicit TorchCudaAllocator(c10::DeviceIndex device) : device_(device) {
    // LibTorch's allocator knows no device before its first tensor there, and refuses to count.
    at::empty({1}, at::device(at::Device(at::kCUDA, device)));
    c10::cuda::setCurrentCUDAStream(c10::cuda::getStreamFromPool(false, device));
  }

  void* stream() const override { return c10::cuda::getCurrentCUDAStream(device_).stream(); }
  Bytes held() override { return {allocated_bytes(device_).current}; }
  Bytes peak() override { return {allocated_bytes(device_).peak}; }
  void reset_peak() override { caching::resetPeakStats(device_); }

 private:
  c10::DeviceIndex device_;
};

}  // namespace

std::unique_ptr<CudaAllocator> torch_cuda_allocator(int device) {
  return std::make_unique<TorchCudaAllocator>(static_cast<c10::DeviceIndex>(device));
}

}  // namespace penstock
