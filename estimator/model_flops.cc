#include "estimator/model_flops.h"

#include "estimator/count_operations.h"

namespace penstock {
namespace {

double flops_of(const SectionCounts& counts) {
  return counts.forward.product_flops() + counts.forward.scores;
}

}  // namespace

double model_flops(const Architecture& model, int sequence_length) {
  CountKey key;
  key.sequence_length = sequence_length;
  double forward = flops_of(count_embedding(model, key)) +
                   flops_of(count_end(model, EndKind::kNormAndHead, key));
  for (int layer = 0; layer < model.layers; ++layer) {
    forward += flops_of(count_layer(model, kind_of_layer(model, layer), key));
  }
  return 3.0 * forward;
}

}  // namespace penstock
