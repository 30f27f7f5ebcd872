// Context parallelism as PyTorch does it: what its ranks send each other, on a given cluster.
#pragma once

#include <string_view>

#include "core/values/profile.h"
#include "core/values/units.h"
#include "costmodel/context_ring.h"

namespace penstock {

// Does the trainer of these times pass gradients of keys and values on?
bool passes_gradients_on(const Measurement& measured);
// What those assume whose times rest on TorchRing::kMostPerDevice.
inline constexpr std::string_view kTorchRateAssumed =
    "PyTorch's ranks, where more than two divide a sequence, send keys, values and their "
    "gradients at 49 GB/s a GPU at most: fitted to two runs of 8B on one host of H100";

class TorchRing {
 public:
  // What a GPU was seen to send where more than two ranks divide a sequence, whatever its links.
  // Fitted to torchtitan's runs of 8B with C = 4 and 8 inside a host; those of C = 2 show no such
  // limit, and why there is one nobody knows (docs/accuracy.md, "8B with C = 4 and 8").
  static constexpr BytesPerSecond kMostPerDevice{49e9};

  // Keeps the ranks by reference.
  explicit TorchRing(const ContextRings& ranks) : ranks_(ranks) {}

  // Is a link faster than what counts in its place?
  [[nodiscard]] bool is_limited(Bytes of_step) const {
    return ranks_.step_time(of_step) < least(of_step);
  }
  // Of one step, and of the keys and values of all ranks, each with as many bytes.
  [[nodiscard]] Duration step_time(Bytes bytes) const;
  [[nodiscard]] Duration gather_time(Bytes bytes) const;
  // What shows of them beside so much compute (of every step).
  [[nodiscard]] Duration shown_steps(Bytes bytes, Duration beside) const;
  [[nodiscard]] Duration shown_gather(Bytes bytes, Duration beside) const;

 private:
  [[nodiscard]] Duration least(Bytes sent) const;
  const ContextRings& ranks_;
};

}  // namespace penstock
