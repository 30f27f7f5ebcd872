// Where a rank computes. What differs between a CPU and a GPU besides where tensors live: streams,
// time, memory. The CPU's stands in training/torch, that of CUDA in training/cuda.
#pragma once

#include <memory>
#include <string>

#include "core/values/units.h"

namespace penstock {

// A stretch of work on the device's own clock: begin() and end() are queued behind the work before
// them, duration() waits for the end.
class Stopwatch {
 public:
  virtual ~Stopwatch() = default;
  virtual void begin() = 0;
  virtual void end() = 0;
  [[nodiscard]] virtual Duration duration() = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  [[nodiscard]] virtual std::string name() const = 0;  // as LibTorch writes it: "cpu", "cuda:0"
  [[nodiscard]] virtual bool is_gpu() const = 0;
  // On which the calling thread queues its work (a cudaStream_t); nullptr on a CPU.
  [[nodiscard]] virtual void* stream() const = 0;
  // Waits for what the calling thread has queued on stream(), not for transfers on other streams.
  virtual void synchronize() = 0;
  [[nodiscard]] virtual std::unique_ptr<Stopwatch> stopwatch() = 0;
  // By LibTorch's allocator: what tensors hold now, and the most since the last reset.
  [[nodiscard]] virtual Bytes held_memory() = 0;
  [[nodiscard]] virtual Bytes peak_memory() = 0;
  virtual void reset_peak_memory() = 0;
};

}  // namespace penstock
