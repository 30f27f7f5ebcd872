// A copy waits on its stream for the events of those that it follows and for what compute has
// queued. What is to run on the host behind a piece is a host function of a third stream, so that
// it runs beside the next piece's way; the copy ends there, and the next one in its direction
// begins behind it, since both may use the same staging memory. Pools are page-locked memory.
//
// Compiled wherever the toolkit is; it has run on no GPU yet.
#include "training/cuda/cuda_slot_link.h"

#include <cstring>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "training/cuda/check_cuda.h"
#include "training/cuda/cuda_devices.h"
#include "training/cuda/cuda_stream.h"
#include "training/steady_time.h"

namespace penstock {
namespace {

// What host functions of one copy leave behind.
class HostOutcome {
 public:
  void run(const std::function<void()>& work) {
    try {
      work();
    } catch (...) {
      const std::scoped_lock lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }
  void rethrow() {
    const std::scoped_lock lock(mutex_);
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
};

struct HostCall {
  std::function<void()> work;
  std::shared_ptr<HostOutcome> outcome;
};
void CUDART_CB run_on_host(void* call) {
  const std::unique_ptr<HostCall> owned(static_cast<HostCall*>(call));
  owned->outcome->run(owned->work);
}

// Times count from an event that passed when the copy was asked for.
class StreamCopy : public SlotCopy {
 public:
  StreamCopy(int device, const CudaStream& clock)
      : device_(device), outcome_(std::make_shared<HostOutcome>()) {
    asked_event_.record(clock.get());
    asked_event_.wait();
    asked_ = steady_now();
  }
  void wait() override {
    use_cuda_device(device_);
    end_.wait();
    outcome_->rethrow();
  }
  [[nodiscard]] SteadyTime started() const override { return asked_ + start_.since(asked_event_); }
  [[nodiscard]] SteadyTime ended() const override { return asked_ + end_.since(asked_event_); }

  void begins(cudaStream_t stream) { start_.record(stream); }
  void ends(cudaStream_t stream) { end_.record(stream); }
  [[nodiscard]] const CudaEvent& end_event() const { return end_; }
  [[nodiscard]] const std::shared_ptr<HostOutcome>& outcome() const { return outcome_; }

 private:
  int device_;
  std::shared_ptr<HostOutcome> outcome_;
  CudaEvent asked_event_{CudaEvent::Timing::kOn}, start_{CudaEvent::Timing::kOn},
      end_{CudaEvent::Timing::kOn};
  SteadyTime asked_{};
};

class CudaSlotLink : public SlotLink {
 public:
  CudaSlotLink(int device, std::unique_ptr<CudaAllocator> allocator, bool duplex)
      : device_(chosen(device)), allocator_(std::move(allocator)), duplex_(duplex) {}
  ~CudaSlotLink() override {
    for (void* pool : pools_) ignore_cuda(cudaFreeHost(pool));
  }
  CudaSlotLink(const CudaSlotLink&) = delete;
  CudaSlotLink& operator=(const CudaSlotLink&) = delete;

  std::byte* allocate(std::size_t bytes) override {
    use_cuda_device(device_);
    void* memory = nullptr;
    check_cuda(cudaMallocHost(&memory, bytes),
               "allocate " + std::to_string(bytes) + " bytes of page-locked host memory");
    pools_.push_back(memory);
    std::memset(memory, 0, bytes);
    return static_cast<std::byte*>(memory);
  }

  std::unique_ptr<SlotCopy> copy(SlotTransfer transfer,
                                 const std::vector<const SlotCopy*>& after) override {
    use_cuda_device(device_);
    auto copy = std::make_unique<StreamCopy>(device_, clock_);
    const CudaStream& way = transfer.to_host && duplex_ ? out_ : in_;
    hold_back(way, after);
    if (transfer.to_host) host_end_.hold_back(way.get());
    copy->begins(way.get());
    for (SlotPiece& piece : transfer.pieces) {
      copy_piece(piece, way);
      if (piece.then) run_behind(way, {std::move(piece.then), copy->outcome()});
    }
    for (const Buffer& buffer : transfer.cleared) {
      check_cuda(cudaMemsetAsync(buffer.data, 0, buffer.bytes(), way.get()), "clear a gradient");
    }
    if (transfer.to_host) {
      behind(way);
      copy->ends(host_.get());
      host_end_.record(host_.get());
    } else {
      copy->ends(way.get());
    }
    return copy;
  }

  std::unique_ptr<SlotCopy> join(const std::vector<const SlotCopy*>& after) override {
    use_cuda_device(device_);
    auto copy = std::make_unique<StreamCopy>(device_, clock_);
    const CudaStream own;  // it is destroyed when what it was given has been done
    hold_back(own, after);
    copy->begins(own.get());
    copy->ends(own.get());
    return copy;
  }

  void settle() override {
    use_cuda_device(device_);
    for (const CudaStream* stream : {&in_, &out_, &host_}) {
      ignore_cuda(cudaStreamSynchronize(stream->get()));
    }
  }

 private:
  static int chosen(int device) {
    (void)cuda_device_at(device);
    use_cuda_device(device);
    return device;
  }

  void hold_back(const CudaStream& stream, const std::vector<const SlotCopy*>& after) const {
    CudaEvent computed;
    computed.record(static_cast<cudaStream_t>(allocator_->stream()));
    computed.hold_back(stream.get());
    for (const SlotCopy* each : after) {
      dynamic_cast<const StreamCopy&>(*each).end_event().hold_back(stream.get());
    }
  }

  static void copy_piece(const SlotPiece& piece, const CudaStream& way) {
    if (piece.from.bytes() == 0) return;
    check_cuda(cudaMemcpyAsync(piece.to.data, piece.from.data, piece.from.bytes(),
                               cudaMemcpyDefault, way.get()),
               "copy " + std::to_string(piece.from.bytes()) + " bytes between slot and host");
  }

  // The host's stream goes on when `way` has come here.
  void behind(const CudaStream& way) const {
    CudaEvent there;
    there.record(way.get());
    there.hold_back(host_.get());
  }
  void run_behind(const CudaStream& way, HostCall call) const {
    behind(way);
    auto owned = std::make_unique<HostCall>(std::move(call));
    check_cuda(cudaLaunchHostFunc(host_.get(), &run_on_host, owned.get()),
               "let the host follow a copy");
    static_cast<void>(owned.release());
  }

  const int device_;
  const std::unique_ptr<CudaAllocator> allocator_;
  const bool duplex_;
  CudaStream in_, out_, host_, clock_;
  CudaEvent host_end_;  // of the last copy back
  std::vector<void*> pools_;
};

}  // namespace

std::unique_ptr<SlotLink> make_cuda_slot_link(int device, std::unique_ptr<CudaAllocator> allocator,
                                              bool duplex) {
  return std::make_unique<CudaSlotLink>(device, std::move(allocator), duplex);
}

}  // namespace penstock
