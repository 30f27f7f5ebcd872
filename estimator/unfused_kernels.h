// What one kernel per operation moves and keeps beyond fused kernels (--kernels eager), counted
// from PyTorch's operators.
#pragma once

#include "core/values/architecture.h"
#include "estimator/count_operations.h"

namespace penstock {

// Of a logit: to 32 bits 2 + 4, log softmax 3 * 4; backward: of the chosen one 4, of the softmax
// 3 * 4, to 16 bits 4 + 2; as one kernel each 4 * 4 and 2 * 4 are counted.
inline constexpr double kUnfusedLossForward = 2.0, kUnfusedLossBackward = 14.0;
// What an RMS norm keeps besides, per element: its input in 32 bits for the one in 16, and what is
// times the weight.
inline constexpr double kUnfusedNormKept = 4.0;

// Bytes per element of an RMS norm.
inline constexpr double kUnfusedNorm = 32.0;

bool has_unfused_norms(const Architecture& model, const CountKey& key);

// Elements per token that the norms of a layer read: as wide as the model, those of queries and
// keys, and those of latent attention; 0 where they are fused.
double unfused_norm_elements(const Architecture& model, const CountKey& key);

// Of a layer's forward.
double unfused_bytes(const Architecture& model, LayerKind kind, const CountKey& key);

}  // namespace penstock
