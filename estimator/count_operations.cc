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
#include "estimator/count_of_rank.h"
#include "estimator/divided_sequences.h"
#include "estimator/layer_shapes.h"
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

// PyTorch gathers and scatters along the first dimension; sequences are the second, so that what
// arrives or leaves is copied (torch/distributed/_functional_collectives.py, all_gather_tensor and
// reduce_scatter_tensor).
bool torch_gathers(const CountKey& key) {
  return key.torch_collectives && key.sequence_parallel && key.tensor_degree > 1;
}

double torch_copies(const Architecture& model, const CountKey& key, int collectives) {
  const double once = 2.0 * tokens(key) * model.hidden * key.element_bytes;
  return torch_gathers(key) ? collectives * once : 0.0;
}

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

// Two all-reduces of the layer's output in each direction, as rings: 2 (T - 1) / T of it per rank.
double reduced_bytes(const Architecture& model, const CountKey& key) {
  if (key.tensor_degree == 1) return 0.0;
  const double ring = 2.0 * (key.tensor_degree - 1) / key.tensor_degree;
  return 2.0 * ring * tokens(key) * model.hidden * key.element_bytes;
}

// Inner tensors of the perceptron that the backward needs, per inner width: the input of the
// activation and of the last product; of a gated one both factors and their product.
double inner_tensors(const Architecture& model) { return model.matrices == 3 ? 3.0 : 2.0; }

// Elements per token around attention: queries, keys and values, and the input of the output
// projection.
double attention_elements(const Architecture& model, const CountKey& key) {
  const AttentionShape attention = attention_of(model);
  return real(attention.query_key_value + attention.value) / key.tensor_degree +
         real(attention.narrow_outputs);
}

// Inputs of the norms and of the products behind them, in hidden widths per token. Of experts each
// copy of a token has an input and an output of its own.
double kept_widths(LayerKind kind, const PerceptronShape& perceptron) {
  return kind == LayerKind::kDense ? 4.0 : 3.0 + 2.0 * real(perceptron.copies);
}

// Of the busiest rank over the mean: tokens that are sent to experts, where they are.
double sent(const CountKey& key) { return key.expert_degree > 1 ? key.imbalance : 1.0; }
// Over how many ranks a layer divides copies of tokens: experts that T ranks divide see whole ones.
double divided_copies(const CountKey& key) {
  const bool gathered = key.expert_degree > 1 && !key.whole_experts;
  return gathered ? 1.0 : divided(key);
}

// Inputs of products are kept in 8 bits where those multiply 8 bits; what norms, activations and
// attention keep of them stays wide.
struct Kept {
  double wide = 0.0, inputs = 0.0;  // elements per token
  [[nodiscard]] double bytes(const CountKey& key) const {
    return wide * key.element_bytes + inputs * (key.is_float8 ? 1.0 : key.element_bytes);
  }
};

// What the backward of a layer needs, per token: of attention its norm's input, that of the first
// product, queries, keys and values, and the input of the output projection; of the perceptron
// likewise.
Kept kept_of_layer(const Architecture& model, LayerKind kind, const CountKey& key) {
  const PerceptronShape perceptron = perceptron_of(model, kind);
  const double h = model.hidden, t = key.tensor_degree;
  const double routed = real(perceptron.routed_met) / t, met = real(perceptron.met) / t;
  const double value = real(attention_of(model).value) / t;
  const double more = sent(key) - 1.0;
  const double hidden = kept_widths(kind, perceptron) * h / divided(key);
  const double copies = kind == LayerKind::kDense
                            ? 0.0
                            : 2.0 * model.experts->per_token * h *
                                  (sent(key) / divided_copies(key) - 1.0 / divided(key));
  // The inputs of the first product, of the perceptron's first (each copy of a token), of its last
  // and of the output projection.
  const double inputs = h / divided(key) * (1.0 + real(perceptron.copies)) + met + value;
  const double gathered = torch_gathers(key) ? 2.0 * (h - h / divided(key)) : 0.0;
  const double all = hidden + copies + gathered + attention_elements(model, key) +
                     inner_tensors(model) * (met + more * routed);
  // The output projection takes what attention keeps as well.
  return {all - inputs + (key.is_float8 ? value : 0.0), inputs};
}

void count_layer_memory(const Architecture& model, LayerKind kind, const CountKey& key,
                        SectionCounts& counts) {
  const PerceptronShape perceptron = perceptron_of(model, kind);
  const double h = model.hidden, e = key.element_bytes, t = key.tensor_degree;
  const double met = real(perceptron.met) / t, copies = real(perceptron.copies);
  const double around = attention_elements(model, key);
  // Two masks of a byte where there is dropout are left out, since nobody trains these models with
  // it.
  counts.stash =
      whole(tokens(key) * kept_of_layer(model, kind, key).bytes(key) + kept_scores(model, key));
  // Inputs and output gradients of every matrix product.
  const double operands =
      (2.0 + 2.0 * copies) * h / divided(key) + around + met + (model.matrices - 1) * met;
  counts.weight_stash = std::min(counts.stash, whole(tokens(key) * operands * e));
  const double gradients = 2.0 * h + model.matrices * met;
  // What arrives for the experts of a rank, and what they make of it.
  const double arriving =
      key.expert_degree == 1 ? 0.0
                             : 2.0 * model.experts->per_token * h * sent(key) / divided_copies(key);
  counts.working_peak =
      whole(tokens(key) * (gradients + arriving) * e + working_scores(model, key));
}

// One copy of a rank's own tokens each way, 8 bits where products take them so. The gradients go
// the same ways.
std::optional<ExpertTraffic> dispatched(const Architecture& model, LayerKind kind,
                                        const CountKey& key) {
  if (kind == LayerKind::kDense || key.expert_degree == 1) return std::nullopt;
  const Experts& experts = *model.experts;
  ExpertTraffic traffic;
  const double own = tokens(key) / key.tensor_degree * model.hidden;
  traffic.dispatched = whole(own * key.element_bytes);
  traffic.combined = whole(own * key.element_bytes);
  traffic.experts = experts.count;
  traffic.visited = experts.per_token;
  if (experts.groups_per_token < experts.groups) traffic.most_nodes = experts.groups_per_token;
  traffic.imbalance = key.imbalance;
  return traffic;
}

// What the collectives of a section carry; nothing where no tensors are divided.
Bytes tokens_bytes(const Architecture& model, const CountKey& key) {
  return whole(tokens(key) * model.hidden * key.element_bytes);
}

// With sequence parallelism each rank hands on its own tokens.
Bytes boundary_of(const Architecture& model, const CountKey& key) {
  return whole(tokens(key) * model.hidden * key.element_bytes / divided(key));
}

// Gradients of the weights of a forward's product are added to those of the micro-batches before:
// each is read and written once.
double summed_bytes(const Product& p, const CountKey& key) {
  return 2.0 * key.gradient_bytes * p.inner * p.columns * p.count;
}

// By the product that makes them (Megatron-LM's gradient accumulation fusion), or by a kernel
// apart.
double summed_by_product(const Product& p, const CountKey& key) {
  return key.sums_apart ? 0.0 : summed_bytes(p, key);
}

double summed_apart(const std::vector<Product>& forward, const CountKey& key) {
  double bytes = 0.0;
  if (!key.sums_apart) return bytes;
  for (const Product& p : forward) bytes += summed_bytes(p, key);
  return bytes;
}

// Of each product of a forward the backward makes two: the gradient of its input and of its
// weights.
std::vector<Product> backward_of(const std::vector<Product>& products, const CountKey& key) {
  std::vector<Product> out;
  out.reserve(2 * products.size());
  for (const Product& p : products) {
    out.push_back({p.rows, p.inner, p.columns, p.count, p.kind});
    out.push_back({p.inner, p.columns, p.rows, p.count, p.kind, summed_by_product(p, key)});
  }
  return out;
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

// Per-operation checkpointing as torchtitan does it: attention and every second product keep their
// outputs (queries, values, the first matrix of the perceptron and, gated, the last); keys, the
// output projection and the gate are computed again, and what lies between.
RecomputeCounts count_selective(const Architecture& model, LayerKind kind, const CountKey& key,
                                const SectionCounts& layer) {
  const PerceptronShape perceptron = perceptron_of(model, kind);
  const AttentionShape attention = attention_of(model);
  const double h = model.hidden, t = key.tensor_degree, e = key.element_bytes;
  const double value = real(attention.value) / t, met = real(perceptron.met) / t;
  const double keys = model.latent ? value : real(model.key_value_heads) * model.head_width / t;
  const bool gated = model.matrices == 3;
  RecomputeCounts out;
  out.again.products = {{tokens(key), keys, h, 1.0}, {tokens(key), h, value, 1.0}};
  if (gated) out.again.products.push_back({tokens(key), met, h, 1.0});
  // What was scattered is kept.
  out.again.bytes = layer.forward.bytes;
  out.again.unfused = layer.forward.unfused;
  out.again.copies = torch_copies(model, key, 2);
  const double kept = (gated ? 2.0 : 1.0) * h / divided(key) + 2.0 * value + keys + met;
  out.stash = std::min(layer.stash, whole(tokens(key) * kept * e + kept_scores(model, key)));
  return out;
}

// Of a layer whose experts lie on ranks of their own only attention, and what every token visits,
// gathers and scatters over the T ranks; experts that those divide gather and scatter what arrives.
std::vector<TensorTraffic> layer_traffic(const Architecture& model, LayerKind kind,
                                         const CountKey& key) {
  const Bytes bytes = tokens_bytes(model, key);
  std::vector<TensorTraffic> traffic = torch_gathers(key) ? traffic_of_torch_layer(bytes)
                                       : key.torch_collectives && !key.sequence_parallel
                                           ? traffic_of_torch_sums(bytes)
                                           : traffic_of_layer(bytes, key.sequence_parallel);
  if (kind == LayerKind::kDense || (key.expert_degree == 1 && !key.whole_experts)) return traffic;
  std::vector<TensorTraffic> all;
  const auto add = [&](Bytes of, int half) {
    for (TensorTraffic each : traffic) {
      each.bytes = of;
      for (int* count : {&each.forward, &each.input_gradient, &each.recompute,
                         &each.beside_input_gradient, &each.beside_weight_gradient}) {
        // Attention has the larger half of what is odd.
        *count = half == 0 ? (*count + 1) / 2 : *count / 2;
      }
      all.push_back(each);
    }
  };
  add(bytes, 0);
  if (model.experts->shared_width > 0) add(bytes, 1);
  if (!key.whole_experts) {
    add(whole(real(bytes.count) * model.experts->per_token * sent(key)), 1);
  }
  return all;
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

// The output of a layer's last product is not what its backward needs: PyTorch's checkpointing
// stops before it (since 2.1, without reentrance), and XLA removes it. Megatron's, which layers
// over a tensor-parallel group are taken to have, repeats it.
bool stops_early(LayerKind kind, const CountKey& key) {
  return kind == LayerKind::kDense && key.tensor_degree == 1;
}

// The scores alone are computed again (arXiv 2205.05198).
RecomputeCounts count_scores_again(const Architecture& model, const CountKey& key,
                                   const SectionCounts& layer) {
  RecomputeCounts out;
  out.again.scores = layer.forward.scores;
  out.again.bytes = score_bytes(model, key);
  out.stash = whole(real(layer.stash.count) - kept_scores(model, key));
  return out;
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

RecomputeCounts count_recompute(const Architecture& model, LayerKind kind, const CountKey& key,
                                Recompute mode) {
  const SectionCounts layer = count_layer(model, kind, key);
  RecomputeCounts out;
  out.stash = layer.stash;
  if (mode == Recompute::kFull) {
    out.again = layer.forward;
    out.again.reduced = 0.0;
    if (stops_early(kind, key)) out.again.products.pop_back();
    out.stash = layer.boundary;
    out.traffic = layer.traffic;
    out.experts = layer.experts;
    if (out.experts) out.experts->again = true;
  } else if (mode == Recompute::kSelective) {
    out = key.attention == AttentionKind::kFused ? count_selective(model, kind, key, layer)
                                                 : count_scores_again(model, key, layer);
  }
  if (mode != Recompute::kFull) {
    out.traffic = layer.traffic;
    out.experts = layer.experts;
    // Per-operation checkpointing keeps what was scattered and gathers again. PyTorch's does not
    // keep sums: that behind attention is made again for what follows it.
    const bool repeats = mode == Recompute::kSelective && key.attention == AttentionKind::kFused;
    for (TensorTraffic& each : out.traffic) {
      const bool is_torch_sum = key.torch_collectives && each.kind == CollectiveKind::kAllReduce;
      if (repeats && is_torch_sum) each.recompute = 1;
      if (!repeats || (each.kind != CollectiveKind::kAllGather && !is_torch_sum)) {
        each.recompute = 0;
      }
    }
  }
  // What is computed again is there while the layer's backward works.
  out.weight_stash = layer.weight_stash;
  out.working_peak = layer.working_peak + layer.stash - out.stash;
  return out;
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
