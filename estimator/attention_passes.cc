#include "estimator/attention_passes.h"

#include "estimator/count_of_rank.h"

namespace penstock {

// Scores of a sample, one number each.
double score_count(const Architecture& model, const CountKey& key) {
  return tokens(key) * key.sequence_length * model.heads / key.tensor_degree;
}

double score_bytes(const Architecture& model, const CountKey& key) {
  if (key.attention == AttentionKind::kFused) return 0.0;
  const double passes = key.eager ? kPassesOverScores : kFusedPassesOverScores;
  return passes * score_count(model, key) * key.element_bytes;
}

// Bytes held from forward to backward: kept, the weights before and behind dropout and its mask
// (5 a s / h of arXiv 2205.05198); fused, the largest score and the sum of a row, as one number of
// 4 bytes.
double kept_scores(const Architecture& model, const CountKey& key) {
  if (key.attention == AttentionKind::kFused) {
    return kRowBytes * tokens(key) * model.heads / key.tensor_degree;
  }
  return score_count(model, key) * (2.0 * key.element_bytes + 1.0);
}

double working_scores(const Architecture& model, const CountKey& key) {
  if (key.attention == AttentionKind::kFused) return 0.0;
  return 2.0 * score_count(model, key) * key.element_bytes;
}

}  // namespace penstock
