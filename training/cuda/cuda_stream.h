// Streams and events of the CUDA runtime as owned things. Private to what uses the runtime.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include <cuda_runtime_api.h>

#include "core/values/units.h"
#include "training/buffer.h"

namespace penstock {

// Makes `device` the calling thread's current one, for good. To go back to what was current before
// would open a context on GPU 0 from every thread that never chose one: since CUDA 12
// cudaSetDevice() opens it at once, which takes hundreds of megabytes of that GPU per process.
void use_cuda_device(int device);

class CudaStream {
 public:
  CudaStream();  // non-blocking: it does not wait for the default stream
  ~CudaStream();
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  [[nodiscard]] cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class CudaEvent {
 public:
  enum class Timing { kOff, kOn };
  explicit CudaEvent(Timing timing = Timing::kOff);
  ~CudaEvent();
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  void record(cudaStream_t stream);
  [[nodiscard]] bool has_passed() const;
  void wait() const;  // on the host
  // What `stream` is given from now on starts after this event.
  void hold_back(cudaStream_t stream) const;
  [[nodiscard]] Duration since(const CudaEvent& begin) const;  // both with timing, both passed

 private:
  cudaEvent_t event_ = nullptr;
};

inline cudaStream_t stream_of(const Buffer& buffer) {
  return static_cast<cudaStream_t>(buffer.stream);
}

}  // namespace penstock
