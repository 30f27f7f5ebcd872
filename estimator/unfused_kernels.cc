#include "estimator/unfused_kernels.h"

#include "estimator/count_of_rank.h"
#include "estimator/layer_shapes.h"

namespace penstock {
namespace {

// Bytes per element that kernels which are not fused move beyond those counted as fused, forward.
// RMS norm (rms_norm of ATen's layer_norm.cpp, until 2025 one kernel per step): to 32 bits 2 + 4,
// square 4 + 4, mean 4, times the root 4 + 4, to 16 bits 4 + 2, times the weight 2 + 2; fused 2
// + 2. A layer norm is one kernel anyway. Rotary positions: to 32 bits 2 + 4, times the angles 4 +
// 4, back 4 + 2; fused 2 + 2. A gate: silu 2 + 2, product 4 + 2; fused 4 + 2. The backward moves
// twice that, as of fused ones.
constexpr double kUnfusedRotary = 16.0, kUnfusedGate = 4.0;

double query_key_elements(const Architecture& model) {
  return (real(model.heads) + model.key_value_heads) * model.head_width;
}

// Queries and keys, per token, that are turned by their positions.
double turned_elements(const Architecture& model) {
  if (model.latent) return (model.heads + 1.0) * model.latent->rotary_width;
  return query_key_elements(model) * model.rotary_share;
}

}  // namespace

bool has_unfused_norms(const Architecture& model, const CountKey& key) {
  return key.unfused && model.rms_norm;
}

double unfused_norm_elements(const Architecture& model, const CountKey& key) {
  if (!has_unfused_norms(model, key)) return 0.0;
  const double heads = model.query_key_norm > 0 ? query_key_elements(model) : 0.0;
  return model.norms * real(model.hidden) / divided(key) + heads / key.tensor_degree +
         real(attention_of(model).narrow_norms);
}

double unfused_bytes(const Architecture& model, LayerKind kind, const CountKey& key) {
  if (!key.unfused) return 0.0;
  const double t = key.tensor_degree;
  const double norms = kUnfusedNorm * unfused_norm_elements(model, key);
  const double gated =
      model.matrices == 3 ? real(perceptron_of(model, kind).met) / t * kUnfusedGate : 0.0;
  return tokens(key) * (norms + kUnfusedRotary * turned_elements(model) / t + gated);
}

}  // namespace penstock
