// What attention moves and computes, of a layer's own tokens and of an encoder's.
#pragma once

#include "core/values/architecture.h"
#include "estimator/count_operations.h"

namespace penstock {

// Of kept scores: scale, mask, softmax and dropout, one after the other or as two kernels
// (Megatron's fused softmax).
inline constexpr double kPassesOverScores = 8.0;
inline constexpr double kFusedPassesOverScores = 5.0;
// Of fused attention, kept per row of scores.
inline constexpr double kRowBytes = 4.0;
// Backward of fused attention computes the scores again: five products for two.
inline constexpr double kFusedBackward = 2.5;
inline constexpr double kKeptBackward = 2.0;

// Scores of a sample, one number each, and the bytes that passes over kept ones move.
double score_count(const Architecture& model, const CountKey& key);
double score_bytes(const Architecture& model, const CountKey& key);

// Bytes of them from forward to backward, and while attention works.
double kept_scores(const Architecture& model, const CountKey& key);
double working_scores(const Architecture& model, const CountKey& key);

}  // namespace penstock
