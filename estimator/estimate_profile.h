// Architecture + datasheet + fitted efficiencies -> a ModelProfile whose times are estimated, every
// one of them marked so. Measured sections can replace them later: it is a profile like any other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/values/architecture.h"
#include "core/values/device_sheet.h"
#include "core/values/profile.h"
#include "estimator/attention_rate.h"
#include "estimator/efficiency.h"

namespace penstock {

struct EstimateRequest {
  std::string device;  // what the profile calls it; empty: the datasheet's name
  Arithmetic arithmetic = Arithmetic::kBFloat16;
  int sequence_length = 0;     // tokens per sample
  int most_tensor_degree = 1;  // T in powers of two up to here, where the model divides
  std::optional<AttentionKernel> attention{};  // absent: default_attention()
  // Tensors between the products of a layer divided over the ranks of a tensor-parallel group.
  bool sequence_parallel = true;
  // Ranks that share a sequence. Its exchange of keys and values is taken as hidden; what `plan`
  // searches has none.
  int context_degree = 1;
  int gradient_bytes = 4;
};

struct Estimate {
  ModelProfile profile;
  ErrorBand error;  // of the curve it went by
  // What it rests on, in words, beyond the fields of Architecture.
  std::vector<std::string> assumptions;
};

// Error{kBadInput} when the datasheet has no rate for that arithmetic, when no sequence length is
// given, or one beyond the model's learned positions.
Estimate estimate_profile(const Architecture& model, const DeviceSheet& device,
                          const Efficiency& efficiency, const EstimateRequest& request);

// bfloat16 where the device has it, else float16.
Arithmetic default_arithmetic(const DeviceSheet& device);
// The model's own, not above 8192; 0 when it has none.
int default_sequence_length(const Architecture& model);

}  // namespace penstock
