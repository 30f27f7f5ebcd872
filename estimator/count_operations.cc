#include "estimator/count_operations.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

using Count = std::int64_t;

// Passes over tensors between the matrix products; docs/estimates.md lists them.
constexpr double kPassesOverHidden = 12.0;   // norms, residuals, inputs and outputs of products
constexpr double kPassesOverScores = 8.0;    // scale, mask, softmax, dropout of kept scores
constexpr double kHeadPassesForward = 8.0;   // over the logits, as 4-byte numbers
constexpr double kHeadPassesBackward = 3.0;  // likewise
constexpr double kPassesOverHeadInput = 6.0;
constexpr int kLogitBytes = 4;
// Backward of fused attention computes the scores again: five products for two.
constexpr double kFusedBackward = 2.5;
constexpr double kKeptBackward = 2.0;

double real(Count count) { return static_cast<double>(count); }
// No file holds more than 2^53 bytes; such a section fits nowhere anyway.
Bytes whole(double bytes) { return {static_cast<Count>(std::ceil(std::min(bytes, 0x1p53)))}; }
double tokens(const CountKey& key) { return real(key.samples) * key.sequence_length; }

// Widths of the tensors of attention, per token, of all ranks together.
struct AttentionShape {
  Count projections = 0;  // parameters of its matrices, divided over the ranks
  Count narrow = 0;       // of those every rank holds whole (latent)
  Count narrow_norms = 0;
  Count query_key_value = 0;  // outputs of the projections
  Count narrow_outputs = 0;
  Count value = 0;        // input of the output projection
  Count score_width = 0;  // n (width of a query + width of a value)
};

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

// Inner widths of the perceptron of a layer: held, and met by one token.
struct PerceptronShape {
  Count held = 0, met = 0;
  Count copies = 0;   // of a token's input: one, or one per expert
  Count router = 0;   // parameters
  Count experts = 1;  // held
};

PerceptronShape perceptron_of(const Architecture& model, LayerKind kind) {
  if (kind == LayerKind::kDense) return {model.feed_forward, model.feed_forward, 1, 0};
  const Experts& experts = *model.experts;
  PerceptronShape shape;
  shape.held = Count{experts.count} * experts.width + experts.shared_width;
  shape.met = Count{experts.per_token} * experts.width + experts.shared_width;
  shape.copies = experts.per_token + (experts.shared_width > 0 ? 1 : 0);
  shape.router = Count{experts.count} * model.hidden + (experts.shared_gate ? model.hidden : 0);
  shape.experts = experts.count + (experts.shared_width > 0 ? 1 : 0);
  return shape;
}

Count norm_weights(const Architecture& model) {
  return Count{model.hidden} * (model.norm_bias ? 2 : 1);
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

// Pairs of a query and a key that see each other, per sample.
double visible_pairs(const Architecture& model, const CountKey& key) {
  const double s = key.sequence_length;
  if (key.attention == AttentionKind::kKept || !model.causal) return s * s;
  const double w = model.window > 0 ? std::min<double>(model.window, s) : s;
  return s * w - w * w / 2.0;
}

double score_flops(const Architecture& model, const CountKey& key) {
  return 2.0 * key.samples * visible_pairs(model, key) * real(attention_of(model).score_width) /
         key.tensor_degree;
}

double score_bytes(const Architecture& model, const CountKey& key) {
  if (key.attention == AttentionKind::kFused) return 0.0;
  return kPassesOverScores * key.samples * model.heads * real(key.sequence_length) *
         key.sequence_length / key.tensor_degree * key.element_bytes;
}

double kept_scores(const Architecture& model, const CountKey& key) {
  if (key.attention == AttentionKind::kFused) return 0.0;
  return real(key.samples) * model.heads * key.sequence_length * key.sequence_length /
         key.tensor_degree * key.element_bytes;
}

// Two all-reduces of the layer's output in each direction, as rings: 2 (T - 1) / T of it per rank.
double reduced_bytes(const Architecture& model, const CountKey& key) {
  if (key.tensor_degree == 1) return 0.0;
  const double ring = 2.0 * (key.tensor_degree - 1) / key.tensor_degree;
  return 2.0 * ring * tokens(key) * model.hidden * key.element_bytes;
}

// Inner tensors of the perceptron that the backward needs, per inner width: the inputs of the
// activation and of the last product; of a gated one four.
double inner_tensors(const Architecture& model) { return model.matrices == 3 ? 4.0 : 2.0; }

void count_layer_memory(const Architecture& model, LayerKind kind, const CountKey& key,
                        SectionCounts& counts) {
  const AttentionShape attention = attention_of(model);
  const PerceptronShape perceptron = perceptron_of(model, kind);
  const double h = model.hidden, e = key.element_bytes, t = key.tensor_degree;
  const double met = real(perceptron.met), value = real(attention.value);
  const double projected = real(attention.query_key_value) / t + real(attention.narrow_outputs);
  const double copies = real(perceptron.copies);
  // Inputs of both norms and of both first products; two masks of a byte where there is dropout
  // are left out, since nobody trains these models with it.
  const double stash = (3.0 + copies) * h + projected + value / t + inner_tensors(model) * met / t;
  counts.stash = whole(tokens(key) * stash * e + kept_scores(model, key));
  // Inputs and output gradients of every matrix product.
  const double operands = (1.0 + copies) * h + value / t + met / t + projected + h + copies * h +
                          (model.matrices - 1) * met / t;
  counts.weight_stash = std::min(counts.stash, whole(tokens(key) * operands * e));
  const double gradients = 2.0 * h + model.matrices * met / t;
  counts.working_peak = whole(tokens(key) * gradients * e + 2.0 * kept_scores(model, key));
}

// With sequence parallelism each rank hands on its own tokens.
Bytes boundary_of(const Architecture& model, const CountKey& key) {
  return whole(tokens(key) * model.hidden * key.element_bytes / key.tensor_degree);
}

// Tensor parallelism with sequence parallelism (arXiv 2205.05198): a layer gathers its tokens
// before attention and perceptron and scatters the sums behind them; the backward does the same the
// other way, and gathers the inputs of the first products once more for their weight gradients.
// Megatron hides these behind I and the scatters behind W; what runs show is one of them
// (docs/estimates.md).
std::vector<TensorTraffic> traffic_of_layer(const Architecture& model, const CountKey& key) {
  if (key.tensor_degree == 1) return {};
  const Bytes tokens_bytes = whole(tokens(key) * model.hidden * key.element_bytes);
  TensorTraffic gather{.kind = CollectiveKind::kAllGather, .bytes = tokens_bytes};
  gather.forward = gather.recompute = 2;
  gather.input_gradient = 2;
  gather.beside_input_gradient = 2;
  TensorTraffic scatter{.kind = CollectiveKind::kReduceScatter, .bytes = tokens_bytes};
  scatter.forward = scatter.recompute = 2;
  scatter.input_gradient = 1;
  scatter.beside_weight_gradient = 1;
  return {gather, scatter};
}

// The embedding's rows are divided: what the ranks looked up is summed, each rank keeping its own
// tokens.
std::vector<TensorTraffic> traffic_of_embedding(const Architecture& model, const CountKey& key) {
  if (key.tensor_degree == 1) return {};
  const Bytes tokens_bytes = whole(tokens(key) * model.hidden * key.element_bytes);
  TensorTraffic scatter{.kind = CollectiveKind::kReduceScatter, .bytes = tokens_bytes};
  scatter.forward = 1;
  TensorTraffic gather{.kind = CollectiveKind::kAllGather, .bytes = tokens_bytes};
  gather.input_gradient = 1;
  return {scatter, gather};
}

// The head gathers its input; the loss over divided logits takes the largest, the sum and the
// target's logit of every token over all ranks.
std::vector<TensorTraffic> traffic_of_head(const Architecture& model, const CountKey& key) {
  if (key.tensor_degree == 1) return {};
  const Bytes tokens_bytes = whole(tokens(key) * model.hidden * key.element_bytes);
  TensorTraffic gather{.kind = CollectiveKind::kAllGather, .bytes = tokens_bytes};
  gather.forward = 1;
  gather.beside_input_gradient = 1;
  TensorTraffic scatter{.kind = CollectiveKind::kReduceScatter, .bytes = tokens_bytes};
  scatter.beside_weight_gradient = 1;
  TensorTraffic loss{.kind = CollectiveKind::kAllReduce, .bytes = whole(kLogitBytes * tokens(key))};
  loss.forward = 3;
  return {gather, scatter, loss};
}

}  // namespace

std::int64_t vocabulary_rows(const Architecture& model, int tensor_degree) {
  return (Count{model.vocabulary} + tensor_degree - 1) / tensor_degree;
}

bool divides(const Architecture& model, int tensor_degree) {
  const auto even = [&](int count) { return count % tensor_degree == 0; };
  if (!even(model.heads) || !even(model.feed_forward)) return false;
  if (!model.latent && !even(model.key_value_heads)) return false;
  return !model.experts || (even(model.experts->width) && even(model.experts->shared_width));
}

LayerKind kind_of_layer(const Architecture& model, int layer) {
  const bool dense = !model.experts || std::binary_search(model.dense_layers.begin(),
                                                          model.dense_layers.end(), layer);
  return dense ? LayerKind::kDense : LayerKind::kExperts;
}

SectionCounts count_embedding(const Architecture& model, const CountKey& key) {
  SectionCounts counts;
  const Count h = model.hidden, table = vocabulary_rows(model, key.tensor_degree) * h;
  counts.parameters = table + (Count{model.position_rows} + model.token_types) * h +
                      (model.embedding_norm ? norm_weights(model) : 0);
  const double moved = 3.0 * tokens(key) * model.hidden * key.element_bytes;
  counts.forward.bytes = moved;
  // The dense gradient of the table is cleared, written and added up.
  counts.backward.bytes = moved + 4.0 * real(table) * key.element_bytes;
  counts.weight_share = 1.0;
  counts.traffic = traffic_of_embedding(model, key);
  counts.boundary = boundary_of(model, key);
  counts.stash = whole(tokens(key) * 8.0);  // token ids
  counts.weight_stash = counts.boundary + counts.stash;
  counts.working_peak = counts.boundary + counts.boundary;
  return counts;
}

SectionCounts count_layer(const Architecture& model, LayerKind kind, const CountKey& key) {
  const AttentionShape attention = attention_of(model);
  const PerceptronShape perceptron = perceptron_of(model, kind);
  const double h = model.hidden, t = key.tensor_degree;
  const double met = real(perceptron.met) / t, held = real(perceptron.held) / t;
  const double projections = real(attention.projections) / t + real(attention.narrow);
  const double products = projections + model.matrices * met * h + real(perceptron.router);
  SectionCounts counts;
  counts.parameters = layer_parameters(model, kind, key.tensor_degree);
  counts.forward.flops = 2.0 * tokens(key) * products + score_flops(model, key);
  const double again = key.attention == AttentionKind::kFused ? kFusedBackward : kKeptBackward;
  counts.backward.flops = 4.0 * tokens(key) * products + again * score_flops(model, key);
  counts.weight_share = 2.0 * tokens(key) * products / counts.backward.flops;
  const double moved =
      kPassesOverHidden * h + (model.matrices + 1) * met +
      2.0 * (real(attention.query_key_value) / t + real(attention.narrow_outputs)) +
      (real(perceptron.copies) - 1.0) * 4.0 * h;
  const double weights = projections + model.matrices * held * h + real(perceptron.router);
  counts.forward.bytes =
      (tokens(key) * moved + weights) * key.element_bytes + score_bytes(model, key);
  counts.backward.bytes = 2.0 * counts.forward.bytes;
  counts.forward.reduced = counts.backward.reduced = reduced_bytes(model, key);
  counts.traffic = traffic_of_layer(model, key);
  counts.boundary = boundary_of(model, key);
  count_layer_memory(model, kind, key, counts);
  return counts;
}

SectionCounts count_end(const Architecture& model, EndKind kind, const CountKey& key) {
  SectionCounts counts;
  const double h = model.hidden, e = key.element_bytes;
  const Count norm = model.final_norm ? norm_weights(model) : 0;
  counts.parameters = norm;
  counts.weight_share = 0.5;
  if (kind == EndKind::kNormOnly) {
    counts.forward.bytes = kPassesOverHeadInput * tokens(key) * h * e;
    counts.backward.bytes = 2.0 * counts.forward.bytes;
    counts.stash = counts.weight_stash = counts.working_peak = whole(2.0 * tokens(key) * h * e);
    counts.boundary = boundary_of(model, key);
    return counts;
  }
  const Count rows = vocabulary_rows(model, key.tensor_degree), table = rows * model.hidden;
  counts.parameters += table + (model.head_bias ? rows : 0);
  const double logits = tokens(key) * real(rows);
  double products = real(table);
  if (model.head_transform) {  // a layer h by h, and its norm
    counts.parameters += Count{model.hidden} * (model.hidden + 1) + norm_weights(model);
    products += h * h;
  }
  counts.forward.flops = 2.0 * tokens(key) * products;
  counts.backward.flops = 4.0 * tokens(key) * products;
  const double around = (kPassesOverHeadInput * tokens(key) * h + products) * e;
  counts.forward.bytes = around + kHeadPassesForward * kLogitBytes * logits;
  counts.backward.bytes = 2.0 * around + kHeadPassesBackward * kLogitBytes * logits;
  counts.traffic = traffic_of_head(model, key);
  counts.stash = whole(2.0 * tokens(key) * h * e + kLogitBytes * logits);
  counts.weight_stash = whole((tokens(key) * h + logits) * e);
  counts.working_peak = whole(std::max((e + kLogitBytes) * logits, e * logits + e * products));
  counts.boundary = boundary_of(model, key);
  return counts;
}

std::int64_t parameter_count(const Architecture& model) {
  const CountKey key{.tensor_degree = 1,
                     .samples = 1,
                     .sequence_length = 1,
                     .element_bytes = 2,
                     .attention = AttentionKind::kFused};
  Count sum = count_embedding(model, key).parameters +
              count_end(model, EndKind::kNormAndHead, key).parameters;
  if (model.tied_head) sum -= Count{model.vocabulary} * model.hidden;
  for (int layer = 0; layer < model.layers; ++layer) {
    sum += layer_parameters(model, kind_of_layer(model, layer), 1);
  }
  return sum;
}

std::int64_t active_parameter_count(const Architecture& model) {
  Count sum = parameter_count(model);
  if (!model.experts) return sum;
  const PerceptronShape shape = perceptron_of(model, LayerKind::kExperts);
  const auto with_experts = model.layers - static_cast<Count>(model.dense_layers.size());
  return sum - with_experts * model.matrices * model.hidden * (shape.held - shape.met);
}

}  // namespace penstock
