// Three modes: the whole forward again, the products and passes that torchtitan's checkpointing of
// single operations repeats, or the scores of attention alone.
#include "estimator/count_recompute.h"

#include <algorithm>

#include "estimator/attention_passes.h"
#include "estimator/count_of_rank.h"
#include "estimator/layer_shapes.h"
#include "estimator/layer_traffic.h"

namespace penstock {
namespace {

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

}  // namespace

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

}  // namespace penstock
