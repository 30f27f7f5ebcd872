// What a model FLOP utilization (MFU) is measured by: the operations that the model itself asks
// for, and what the devices could do. Whatever a plan makes of the model, this stays as it is.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock {

enum class FlopConvention {
  kMegatron,  // as Megatron-LM counts: products of matrices and attention, of causal models only
              // the visible half of the scores
  kPerParameter,  // 6 per parameter and token, without the embedding: for models that were measured
};

struct ModelFlops {
  double per_sample = 0.0;  // forward and backward, without recompute
  FlopConvention convention = FlopConvention::kMegatron;
  std::vector<std::pair<std::string, double>> peaks;  // device type, FLOP/s of one device
  bool operator==(const ModelFlops&) const = default;
};

// What an MFU counts: "FLOP as Megatron-LM does".
constexpr std::string_view text_of(FlopConvention convention) {
  return convention == FlopConvention::kMegatron ? "FLOP as Megatron-LM does"
                                                 : "6 FLOP per parameter and token";
}

}  // namespace penstock
