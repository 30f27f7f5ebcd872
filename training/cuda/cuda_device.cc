#include "training/cuda/cuda_device.h"

#include <string>
#include <utility>

#include "training/cuda/check_cuda.h"
#include "training/cuda/cuda_devices.h"
#include "training/cuda/cuda_stream.h"

namespace penstock {
namespace {

class CudaStopwatch : public Stopwatch {
 public:
  CudaStopwatch(int device, const CudaAllocator& allocator)
      : device_(device), allocator_(allocator) {}

  void begin() override { record(begin_); }
  void end() override { record(end_); }
  Duration duration() override {
    end_.wait();
    return end_.since(begin_);
  }

 private:
  void record(CudaEvent& event) {
    use_cuda_device(device_);
    event.record(static_cast<cudaStream_t>(allocator_.stream()));
  }

  int device_;
  const CudaAllocator& allocator_;
  CudaEvent begin_{CudaEvent::Timing::kOn}, end_{CudaEvent::Timing::kOn};
};

class CudaDeviceOfRank : public Device {
 public:
  CudaDeviceOfRank(int index, std::unique_ptr<CudaAllocator> allocator)
      : index_(index), allocator_(std::move(allocator)) {}

  std::string name() const override { return "cuda:" + std::to_string(index_); }
  bool is_gpu() const override { return true; }
  void* stream() const override { return allocator_->stream(); }
  // Of the rank's own stream only: the whole device would also wait for receives that are posted
  // ahead, whose senders may be waiting for what this rank does next.
  void synchronize() override {
    use_cuda_device(index_);
    check_cuda(cudaStreamSynchronize(static_cast<cudaStream_t>(stream())),
               "wait for the work on " + name());
  }
  std::unique_ptr<Stopwatch> stopwatch() override {
    use_cuda_device(index_);  // events belong to the device they are created on
    return std::make_unique<CudaStopwatch>(index_, *allocator_);
  }
  Bytes held_memory() override { return allocator_->held(); }
  Bytes peak_memory() override { return allocator_->peak(); }
  void reset_peak_memory() override { allocator_->reset_peak(); }

 private:
  int index_;
  std::unique_ptr<CudaAllocator> allocator_;
};

}  // namespace

std::unique_ptr<Device> make_cuda_device(int index, std::unique_ptr<CudaAllocator> allocator) {
  (void)cuda_device_at(index);
  return std::make_unique<CudaDeviceOfRank>(index, std::move(allocator));
}

}  // namespace penstock
