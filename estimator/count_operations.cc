// One function per kind of section (embedding, layer, head) and figure (parameters, operations,
// traffic, kept bytes), each a sum over the products and passes of one forward, with the backward
// derived from it: two products for each of the forward's, more under fused attention, which
// computes its scores again. Numbers of passes over memory are counted from the kernels named
// beside them; docs/estimates.md derives each formula, and tests compare the parameters with the
// published sizes of models.
//
// Everything is a double, because products of sizes may leave 64 bits.
#include "estimator/count_operations.h"

#include <algorithm>
#include <cmath>

#include "estimator/attention_passes.h"
#include "estimator/backward_products.h"
#include "estimator/count_layer_memory.h"
#include "estimator/count_of_rank.h"
#include "estimator/divided_sequences.h"
#include "estimator/layer_shapes.h"
#include "estimator/layer_traffic.h"
#include "estimator/section_traffic.h"
#include "estimator/unfused_kernels.h"

namespace penstock {
namespace {

using Count = std::int64_t;

// Passes over tensors between the matrix products; docs/estimates.md lists them.
constexpr double kPassesOverHidden = 10.0;       // two norms and two residuals, fused
constexpr double kEagerPassesOverHidden = 12.0;  // one kernel per operation, casts and copies
// Over the logits, as 4-byte numbers: eager, and with a loss that is one kernel.
constexpr double kHeadPassesForward = 8.0, kFusedHeadPassesForward = 4.0;
constexpr double kHeadPassesBackward = 3.0, kFusedHeadPassesBackward = 2.0;
constexpr double kPassesOverHeadInput = 6.0;
constexpr int kLogitBytes = 4;

// Pairs of a query and a key that see each other, per sample; where only some layers have a window,
// the mean of all.
double visible_pairs(const Architecture& model, const CountKey& key) {
  const double s = key.sequence_length;
  if (key.attention == AttentionKind::kKept || !model.causal) return s * s;
  const double whole = s * s / 2.0;
  if (model.window == 0 || model.window >= key.sequence_length) return whole;
  const double w = model.window;
  const double windowed = s * w - w * w / 2.0;
  const double share = model.windowed_layers > 0 ? real(model.windowed_layers) / model.layers : 1.0;
  return share * windowed + (1.0 - share) * whole;
}

double score_flops(const Architecture& model, const CountKey& key) {
  return 2.0 * key.samples * visible_pairs(model, key) * real(attention_of(model).score_width) /
         (real(key.tensor_degree) * key.context_degree);
}

// Gate and first matrix are one product; of experts each has its share of the tokens.
void add_perceptron(const Architecture& model, LayerKind kind, const CountKey& key,
                    std::vector<Product>& products) {
  const double h = model.hidden, t = key.tensor_degree, into = model.matrices - 1;
  const auto add = [&](double rows, double width, double count, ProductKind of) {
    if (width <= 0.0) return;
    products.push_back({rows, into * width, h, count, of});
    products.push_back({rows, h, width, count, of});
  };
  const auto whole = ProductKind::kWhole;
  if (kind == LayerKind::kDense) return add(tokens(key), model.feed_forward / t, 1.0, whole);
  const Experts& experts = *model.experts;
  // An expert gets its share of the tokens of all ranks that have the experts between them: those
  // of EP groups of T ranks, or of EP ranks, each with a T-th of a group's tokens.
  const double share = real(experts.per_token) / experts.count * key.expert_degree * sent(key);
  const double by = key.whole_experts ? t : 1.0;
  const int own = experts.count / key.expert_degree;  // EP divides them
  add(tokens(key) / by * share, experts.width * by / t, own, ProductKind::kGrouped);
  add(tokens(key), experts.shared_width / t, 1.0, whole);
  products.push_back(
      {tokens(key) / divided(key), real(perceptron_of(model, kind).router) / h, h, 1.0});
}

std::vector<Product> layer_products(const Architecture& model, LayerKind kind,
                                    const CountKey& key) {
  const AttentionShape attention = attention_of(model);
  const double h = model.hidden, t = key.tensor_degree;
  const double value = real(attention.value);
  std::vector<Product> products;
  // Of latent attention the up-projections too, as if they were as deep as the model is wide.
  products.push_back({tokens(key), (real(attention.projections) / h - value) / t, h, 1.0});
  if (attention.narrow > 0) products.push_back({tokens(key), real(attention.narrow) / h, h, 1.0});
  products.push_back({tokens(key), h, value / t, 1.0});
  add_perceptron(model, kind, key, products);
  return products;
}

// Elements per token that a forward reads and writes between its products, fused as trainers of
// large models do it: norms and residuals, rotary positions, the activation.
double fused_passes(const Architecture& model, LayerKind kind, const CountKey& key) {
  const PerceptronShape perceptron = perceptron_of(model, kind);
  const AttentionShape attention = attention_of(model);
  const double t = key.tensor_degree;
  const double routed = kind == LayerKind::kDense ? 0.0 : 4.0 * real(perceptron.copies);
  return (kPassesOverHidden + routed) * model.hidden / divided(key) +
         2.0 * (real(attention.query_key_value) / t + real(attention.narrow_outputs)) +
         model.matrices * real(perceptron.met) / t;
}

// The same as eager PyTorch does it, inputs and weights of the products included.
double eager_passes(const Architecture& model, LayerKind kind, const CountKey& key) {
  const PerceptronShape perceptron = perceptron_of(model, kind);
  const AttentionShape attention = attention_of(model);
  const double h = model.hidden, t = key.tensor_degree;
  return kEagerPassesOverHidden * h / divided(key) +
         (model.matrices + 1) * real(perceptron.met) / t +
         2.0 * (real(attention.query_key_value) / t + real(attention.narrow_outputs)) +
         (real(perceptron.copies) - 1.0) * 4.0 * h / divided(key);
}

double layer_bytes(const Architecture& model, LayerKind kind, const CountKey& key) {
  const double e = key.element_bytes;
  if (!key.eager) {
    return tokens(key) * fused_passes(model, kind, key) * e + score_bytes(model, key);
  }
  const AttentionShape attention = attention_of(model);
  const PerceptronShape perceptron = perceptron_of(model, kind);
  const double t = key.tensor_degree;
  const double weights = real(attention.projections) / t + real(attention.narrow) +
                         model.matrices * real(perceptron.held) / t * model.hidden +
                         real(perceptron.router);
  return (tokens(key) * eager_passes(model, kind, key) + weights) * e + score_bytes(model, key);
}

double flops_of(const std::vector<Product>& products) {
  double sum = 0.0;
  for (const Product& product : products) sum += product.flops();
  return sum;
}

// Casts of the inputs of products and, backward, of the gradients of their outputs: 2 bytes are
// read and, as they are and transposed, 2 written (reference: 6 bytes with the pass that finds the
// largest number). Cast once where several products share an input.
void count_casts(const Architecture& model, LayerKind kind, const CountKey& key,
                 SectionCounts& counts) {
  constexpr double kBytesOfCast = 6.0;
  const PerceptronShape perceptron = perceptron_of(model, kind);
  const double h = model.hidden, t = key.tensor_degree, met = real(perceptron.met) / t;
  const double copies = real(perceptron.copies) * sent(key);
  const double inputs =
      (1.0 + copies) * h / divided(key) + met + real(attention_of(model).value) / t;
  const double gradients = real(attention_of(model).query_key_value) / t + h / divided(key) +
                           (model.matrices - 1) * met + copies * h / divided(key);
  counts.forward.cast = tokens(key) * inputs * kBytesOfCast;
  counts.backward.cast = tokens(key) * gradients * kBytesOfCast;
}

// While the loss works, of every logit beside the 32 bits that are kept: its gradients in 16 bits
// and in 32, those of the softmax beside them where the loss is no single kernel. Over logits that
// are divided PyTorch sums up in 32 bits what it scatters, the exponentials and both, one after the
// other (_nll_loss_and_log_softmax_backward of torch/distributed/tensor/parallel/loss.py).
double bytes_of_loss(const CountKey& key) {
  if (key.eager_loss && key.torch_collectives && key.tensor_degree > 1) return 3.0 * kLogitBytes;
  const double e = key.element_bytes;
  return e + kLogitBytes + (key.eager_loss ? e : 0.0);
}

}  // namespace

double Work::product_flops() const { return flops_of(products); }

int score_width(const Architecture& model) {
  return model.latent ? model.latent->content_width + model.latent->rotary_width : model.head_width;
}

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
  if (key.tensor_degree > 1) counts.traffic = traffic_of_embedding(tokens_bytes(model, key));
  counts.forward.copies = counts.backward.copies = torch_copies(model, key, 1);
  counts.boundary = boundary_of(model, key);
  counts.stash = whole(tokens(key) * 8.0);  // token ids
  counts.weight_stash = counts.boundary + counts.stash;
  counts.working_peak = counts.boundary + counts.boundary;
  return counts;
}

SectionCounts count_layer(const Architecture& model, LayerKind kind, const CountKey& key) {
  SectionCounts counts;
  counts.parameters = layer_parameters(model, kind, key.tensor_degree);
  counts.forward.products = layer_products(model, kind, key);
  counts.forward.scores = score_flops(model, key);
  counts.backward.products = backward_of(counts.forward.products, key);
  const double again = key.attention == AttentionKind::kFused ? kFusedBackward : kKeptBackward;
  counts.backward.scores = again * counts.forward.scores;
  const double products = counts.backward.product_flops();
  counts.weight_share = 0.5 * products / (products + counts.backward.scores);
  counts.forward.bytes = layer_bytes(model, kind, key);
  counts.backward.bytes = 2.0 * counts.forward.bytes;
  counts.forward.unfused = unfused_bytes(model, kind, key);
  counts.backward.unfused = 2.0 * counts.forward.unfused;
  counts.forward.copies = torch_copies(model, key, 4) + merged_bytes(model, key, false);
  counts.backward.copies = torch_copies(model, key, 4) + merged_bytes(model, key, true);
  counts.backward.sums = summed_apart(counts.forward.products, key);
  counts.forward.reduced = counts.backward.reduced = reduced_bytes(model, key);
  if (key.tensor_degree > 1) counts.traffic = layer_traffic(model, kind, key);
  if (key.is_float8) count_casts(model, kind, key, counts);
  counts.boundary = boundary_of(model, key);
  counts.ring = ring_bytes(model, key);
  counts.exchanged = exchanged_bytes(model, key);
  counts.experts = dispatched(model, kind, key);
  count_layer_memory(model, kind, key, counts);
  counts.stash += whole(tokens(key) * kUnfusedNormKept * unfused_norm_elements(model, key));
  counts.working_peak += whole(real(counts.ring.count) * ring_copies(key));
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
  counts.forward.products = {{tokens(key), real(rows), h, 1.0}};
  if (model.head_transform) {  // a layer h by h, and its norm
    counts.parameters += Count{model.hidden} * model.hidden + norm_weights(model) +
                         (model.norm_bias ? model.hidden : 0);
    products += h * h;
    counts.forward.products.push_back({tokens(key), h, h, 1.0});
  }
  counts.backward.products = backward_of(counts.forward.products, key);
  counts.backward.sums = summed_apart(counts.forward.products, key);
  const double around = (kPassesOverHeadInput * tokens(key) * h + products) * e;
  const double forward = key.eager ? kHeadPassesForward : kFusedHeadPassesForward;
  const double backward = key.eager ? kHeadPassesBackward : kFusedHeadPassesBackward;
  // In place they are written and read, then read and overwritten.
  const double in_place = 2.0 * e * logits;
  counts.forward.bytes = around + (key.loss_in_place ? in_place : forward * kLogitBytes * logits);
  counts.backward.bytes =
      2.0 * around + (key.loss_in_place ? in_place : backward * kLogitBytes * logits);
  if (key.eager_loss) {
    counts.forward.unfused = kUnfusedLossForward * logits;
    counts.backward.unfused = kUnfusedLossBackward * logits;
  }
  if (has_unfused_norms(model, key)) {
    counts.forward.unfused += kUnfusedNorm * tokens(key) * h;
    counts.backward.unfused += 2.0 * kUnfusedNorm * tokens(key) * h;
  }
  if (key.tensor_degree > 1) {
    const Bytes loss = whole(kLogitBytes * tokens(key));
    const Bytes bytes = tokens_bytes(model, key);
    counts.traffic = !key.sequence_parallel
                         ? traffic_of_whole_head(bytes, loss, key.torch_collectives)
                     : torch_gathers(key) ? traffic_of_torch_head(bytes, loss)
                                          : traffic_of_head(bytes, loss);
    counts.forward.copies = counts.backward.copies = torch_copies(model, key, 1);
  }
  const double kept_logits = (key.loss_in_place ? e : kLogitBytes) * logits;
  counts.stash = whole(2.0 * tokens(key) * h * e + kept_logits);
  if (has_unfused_norms(model, key)) counts.stash += whole(kUnfusedNormKept * tokens(key) * h);
  counts.weight_stash = whole((tokens(key) * h + logits) * e);
  const double of_loss = std::max(bytes_of_loss(key) * logits, e * logits + e * products);
  // Sequence parallelism gathers the head's input, and has its whole gradient to scatter.
  const double gathered = key.sequence_parallel ? 2.0 * tokens(key) * h * e : 0.0;
  counts.working_peak = whole(gathered + (key.loss_in_place ? e * products : of_loss));
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
