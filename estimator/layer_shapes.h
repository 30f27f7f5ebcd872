// How wide the tensors of a layer are, and how many parameters it has: what its counts are made
// from. Private to estimator/.
#pragma once

#include <cstdint>

#include "core/values/architecture.h"
#include "estimator/count_operations.h"

namespace penstock {

// Widths of the tensors of attention, per token, of all ranks together.
struct AttentionShape {
  std::int64_t projections = 0;  // parameters of its matrices, divided over the ranks
  std::int64_t narrow = 0;       // of those every rank holds whole (latent)
  std::int64_t narrow_norms = 0;
  std::int64_t query_key_value = 0;  // outputs of the projections
  std::int64_t narrow_outputs = 0;
  std::int64_t value = 0;        // input of the output projection
  std::int64_t score_width = 0;  // n (width of a query + width of a value)
};

AttentionShape attention_of(const Architecture& model);

// Inner widths of the perceptron of a layer: held, and met by one token.
struct PerceptronShape {
  std::int64_t held = 0, met = 0;
  std::int64_t copies = 0;   // of a token's input: one, or one per expert
  std::int64_t router = 0;   // parameters
  std::int64_t experts = 1;  // held
  // Of the widths, those of experts that a token is sent to.
  std::int64_t routed = 0, routed_met = 0;
};

PerceptronShape perceptron_of(const Architecture& model, LayerKind kind);

std::int64_t norm_weights(const Architecture& model);
// Of one rank.
std::int64_t layer_parameters(const Architecture& model, LayerKind kind, int degree);

}  // namespace penstock
