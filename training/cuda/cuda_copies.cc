#include "training/cuda/cuda_copies.h"

#include <cstring>
#include <string>

#include "training/cuda/check_cuda.h"
#include "training/cuda/cuda_devices.h"
#include "training/cuda/cuda_stream.h"

namespace penstock {
namespace {

class EventMark : public CopyEngine::Mark {
 public:
  explicit EventMark(cudaStream_t stream) { event_.record(stream); }
  [[nodiscard]] const CudaEvent& event() const { return event_; }

 private:
  CudaEvent event_;
};

class QueuedCopy : public CopyEngine::Copy {
 public:
  QueuedCopy(int device, cudaStream_t stream) : device_(device) { event_.record(stream); }
  bool done() override {
    use_cuda_device(device_);
    return event_.has_passed();
  }
  void wait() override {
    use_cuda_device(device_);
    event_.wait();
  }
  [[nodiscard]] const CudaEvent& event() const { return event_; }

 private:
  int device_;
  CudaEvent event_;
};

class CudaCopies : public CopyEngine {
 public:
  explicit CudaCopies(int device) : device_(device) {}

  std::shared_ptr<Mark> mark(const Buffer& buffer) override {
    if (!buffer.on_device) return nullptr;
    use_cuda_device(device_);
    return std::make_shared<EventMark>(stream_of(buffer));
  }

  std::shared_ptr<Copy> copy(const Buffer& from, const Mark* from_ready, const Buffer& to,
                             const Mark* to_ready) override {
    if (!from.on_device && !to.on_device) {
      std::memcpy(to.data, from.data, from.bytes());
      return nullptr;
    }
    use_cuda_device(device_);
    const cudaStream_t stream = stream_of(to.on_device ? to : from);
    for (const Mark* mark : {from_ready, to_ready}) {
      if (mark != nullptr) static_cast<const EventMark*>(mark)->event().hold_back(stream);
    }
    check_cuda(cudaMemcpyAsync(to.data, from.data, from.bytes(), cudaMemcpyDefault, stream),
               "copy " + std::to_string(from.bytes()) + " bytes from or to the device");
    auto copy = std::make_shared<QueuedCopy>(device_, stream);
    // Else the sender's next kernel could overwrite what is still being copied.
    if (from.on_device && to.on_device) copy->event().hold_back(stream_of(from));
    return copy;
  }

 private:
  int device_;
};

void copy_and_wait(void* to, const void* from, const Buffer& device) {
  check_cuda(cudaMemcpyAsync(to, from, device.bytes(), cudaMemcpyDefault, stream_of(device)),
             "copy " + std::to_string(device.bytes()) + " bytes between host and device");
  check_cuda(cudaStreamSynchronize(stream_of(device)), "wait for a copy");
}

}  // namespace

void copy_to_host(const Buffer& from, std::byte* to) { copy_and_wait(to, from.data, from); }
void copy_to_device(const std::byte* from, const Buffer& to) { copy_and_wait(to.data, from, to); }

std::unique_ptr<CopyEngine> make_cuda_copies(int device) {
  (void)cuda_device_at(device);
  return std::make_unique<CudaCopies>(device);
}

}  // namespace penstock
