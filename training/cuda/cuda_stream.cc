#include "training/cuda/cuda_stream.h"

#include <cmath>

#include "training/cuda/check_cuda.h"

namespace penstock {

void use_cuda_device(int device) {
  int before = 0;
  check_cuda(cudaGetDevice(&before), "ask for the current device");
  if (before == device) return;
  check_cuda(cudaSetDevice(device), "make device " + std::to_string(device) + " the current one");
}

CudaStream::CudaStream() {
  check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "create a stream");
}

CudaStream::~CudaStream() { ignore_cuda(cudaStreamDestroy(stream_)); }

CudaEvent::CudaEvent(Timing timing) {
  const unsigned int flags = timing == Timing::kOn ? cudaEventDefault : cudaEventDisableTiming;
  check_cuda(cudaEventCreateWithFlags(&event_, flags), "create an event");
}

CudaEvent::~CudaEvent() { ignore_cuda(cudaEventDestroy(event_)); }

void CudaEvent::record(cudaStream_t stream) {
  check_cuda(cudaEventRecord(event_, stream), "record an event");
}

bool CudaEvent::has_passed() const {
  const cudaError_t code = cudaEventQuery(event_);
  if (code == cudaErrorNotReady) {
    // It is an answer, not an error that a later check should find.
    ignore_cuda(cudaGetLastError());
    return false;
  }
  check_cuda(code, "ask whether an event has passed");
  return true;
}

void CudaEvent::wait() const { check_cuda(cudaEventSynchronize(event_), "wait for an event"); }

void CudaEvent::hold_back(cudaStream_t stream) const {
  check_cuda(cudaStreamWaitEvent(stream, event_, 0), "let a stream wait for an event");
}

Duration CudaEvent::since(const CudaEvent& begin) const {
  float milliseconds = 0;
  check_cuda(cudaEventElapsedTime(&milliseconds, begin.event_, event_),
             "measure the time between two events");
  return Duration{std::llround(static_cast<double>(milliseconds) * 1e6)};
}

}  // namespace penstock
