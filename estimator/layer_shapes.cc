#include "estimator/layer_shapes.h"

namespace penstock {
namespace {

using Count = std::int64_t;

}  // namespace

AttentionShape attention_of(const Architecture& model) {
  AttentionShape shape;
  const Count h = model.hidden, n = model.heads, k = model.key_value_heads;
  if (!model.latent) {
    const Count d = model.head_width;
    shape.query_key_value = (n + 2 * k) * d;
    shape.value = n * d;
    shape.projections = h * shape.query_key_value + shape.value * h;
    shape.score_width = 2 * n * d;
    return shape;
  }
  const LatentAttention& latent = *model.latent;
  const Count query = latent.content_width + latent.rotary_width;
  const Count kept = latent.key_value_rank + latent.rotary_width;
  shape.narrow = h * kept + (latent.query_rank > 0 ? h * latent.query_rank : 0);
  shape.narrow_norms = latent.key_value_rank + latent.query_rank;
  shape.narrow_outputs = kept + latent.query_rank;
  shape.query_key_value =
      n * (query + latent.content_width + latent.rotary_width + latent.value_width);
  shape.value = n * latent.value_width;
  const Count into_query = latent.query_rank > 0 ? latent.query_rank : h;
  shape.projections = into_query * n * query +
                      latent.key_value_rank * n * (latent.content_width + latent.value_width) +
                      shape.value * h;
  shape.score_width = n * (query + latent.value_width);
  return shape;
}

PerceptronShape perceptron_of(const Architecture& model, LayerKind kind) {
  if (kind == LayerKind::kDense) return {model.feed_forward, model.feed_forward, 1, 0};
  const Experts& experts = *model.experts;
  PerceptronShape shape;
  shape.held = Count{experts.count} * experts.width + experts.shared_width;
  shape.met = Count{experts.per_token} * experts.width + experts.shared_width;
  shape.routed = Count{experts.count} * experts.width;
  shape.routed_met = Count{experts.per_token} * experts.width;
  shape.copies = experts.per_token + (experts.shared_width > 0 ? 1 : 0);
  shape.router = Count{experts.count} * model.hidden + (experts.shared_gate ? model.hidden : 0);
  shape.experts = experts.count + (experts.shared_width > 0 ? 1 : 0);
  return shape;
}

Count norm_weights(const Architecture& model) {
  return Count{model.hidden} * (model.norm_bias ? 2 : 1);
}

Count expert_parameters(const Architecture& model, LayerKind kind) {
  if (kind == LayerKind::kDense) return 0;
  const PerceptronShape shape = perceptron_of(model, kind);
  return shape.routed *
         (model.matrices * model.hidden + (model.perceptron_bias ? model.matrices - 1 : 0));
}

Count layer_parameters(const Architecture& model, LayerKind kind, int degree) {
  const AttentionShape attention = attention_of(model);
  const PerceptronShape perceptron = perceptron_of(model, kind);
  Count divided = attention.projections + model.matrices * perceptron.held * model.hidden;
  Count whole_ones = attention.narrow + attention.narrow_norms + perceptron.router +
                     model.norms * norm_weights(model) + model.query_key_norm;
  if (model.attention_sinks) divided += model.heads;
  if (kind == LayerKind::kExperts && model.experts->router_bias) whole_ones += model.experts->count;
  if (model.query_key_value_bias) divided += attention.query_key_value;
  if (model.output_bias) whole_ones += model.hidden;
  if (model.perceptron_bias) {
    divided += (model.matrices - 1) * perceptron.held;
    whole_ones += perceptron.experts * model.hidden;
  }
  return divided / degree + whole_ones;
}

}  // namespace penstock
