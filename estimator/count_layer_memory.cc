// What the backward of a layer needs is what its products, its attention and its activation took
// in; while it works, the gradients of its widest part are there as well.
#include "estimator/count_layer_memory.h"

#include <algorithm>

#include "estimator/attention_passes.h"
#include "estimator/count_of_rank.h"
#include "estimator/layer_shapes.h"
#include "estimator/layer_traffic.h"

namespace penstock {
namespace {

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

}  // namespace

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

}  // namespace penstock
