#include "training/cuda/pinned_staging.h"

#include <string>

#include "training/cuda/check_cuda.h"
#include "training/cuda/cuda_devices.h"
#include "training/cuda/cuda_stream.h"

namespace penstock {
namespace {

class PinnedStaging : public StagingMemory {
 public:
  explicit PinnedStaging(int device) : device_(device) {}

  std::byte* allocate(std::size_t bytes) override {
    use_cuda_device(device_);
    void* memory = nullptr;
    check_cuda(cudaMallocHost(&memory, bytes),
               "allocate " + std::to_string(bytes) + " bytes of pinned host memory");
    return static_cast<std::byte*>(memory);
  }
  void release(std::byte* memory) override { ignore_cuda(cudaFreeHost(memory)); }

  std::unique_ptr<Copy> to_host(const Buffer& device, std::byte* host) override {
    return copy(host, device.data, device, cudaMemcpyDeviceToHost);
  }
  std::unique_ptr<Copy> to_device(const std::byte* host, const Buffer& device) override {
    return copy(device.data, host, device, cudaMemcpyHostToDevice);
  }

 private:
  class QueuedCopy : public Copy {
   public:
    explicit QueuedCopy(cudaStream_t stream) { event_.record(stream); }
    bool done() override { return event_.has_passed(); }
    void wait() override { event_.wait(); }

   private:
    CudaEvent event_;
  };

  std::unique_ptr<Copy> copy(std::byte* to, const std::byte* from, const Buffer& device,
                             cudaMemcpyKind kind) {
    use_cuda_device(device_);
    check_cuda(cudaMemcpyAsync(to, from, device.bytes(), kind, stream_of(device)),
               "copy " + std::to_string(device.bytes()) + " bytes through pinned memory");
    return std::make_unique<QueuedCopy>(stream_of(device));
  }

  int device_;
};

}  // namespace

std::unique_ptr<StagingMemory> make_pinned_staging(int device) {
  (void)cuda_device_at(device);
  return std::make_unique<PinnedStaging>(device);
}

}  // namespace penstock
