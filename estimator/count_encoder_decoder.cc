// Cross attention, of a layer of the decoder: queries from its own tokens, keys and values from the
// encoder's, every pair of them scored. Passes over memory are those of self attention
// (count_operations.cc): norm and residual are half of a layer's, and what the projections write is
// read once more.
//
// What the encoder made is held from F to B once by every stage that has layers of the decoder, but
// a section cannot know its stage: it is counted in every such layer, which errs on the safe side.
#include "estimator/count_encoder_decoder.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "estimator/attention_passes.h"
#include "estimator/count_of_rank.h"
#include "estimator/layer_shapes.h"

namespace penstock {
namespace {

using Count = std::int64_t;

// One norm and one residual: half of a layer's.
constexpr double kCrossPasses = 5.0, kEagerCrossPasses = 6.0;

Bytes encoder_output(const EncoderDecoder& model, const PairKey& key) {
  return whole(tokens(key.encoder) * model.encoder.hidden * key.encoder.element_bytes /
               divided(key.encoder));
}

double score_count(const Architecture& half, const PairKey& key) {
  return tokens(key.decoder) * key.encoder.sequence_length * half.heads / key.decoder.tensor_degree;
}

bool keeps_scores(const PairKey& key) { return key.decoder.attention == AttentionKind::kKept; }

double kept_scores(const Architecture& half, const PairKey& key) {
  if (keeps_scores(key)) return score_count(half, key) * (2.0 * key.decoder.element_bytes + 1.0);
  return kRowBytes * tokens(key.decoder) * half.heads / key.decoder.tensor_degree;
}

double score_bytes(const Architecture& half, const PairKey& key) {
  if (!keeps_scores(key)) return 0.0;
  const double passes = key.decoder.eager ? kPassesOverScores : kFusedPassesOverScores;
  return passes * score_count(half, key) * key.decoder.element_bytes;
}

double score_flops(const Architecture& half, const PairKey& key) {
  return 2.0 * tokens(key.decoder) * key.encoder.sequence_length *
         real(attention_of(half).score_width) / key.decoder.tensor_degree;
}

// Width of all heads on a rank.
double inner(const Architecture& half, const PairKey& key) {
  return real(attention_of(half).value) / key.decoder.tensor_degree;
}

std::vector<Product> cross_products(const Architecture& half, const PairKey& key) {
  const double h = half.hidden, width = inner(half, key);
  return {{tokens(key.decoder), width, h, 1.0},
          {tokens(key.encoder), 2.0 * width, h, 1.0},
          {tokens(key.decoder), h, width, 1.0}};
}

void add_cross_work(const Architecture& half, const PairKey& key, SectionCounts& layer) {
  const double e = key.decoder.element_bytes, h = half.hidden, width = inner(half, key);
  for (const Product& product : cross_products(half, key)) {
    layer.forward.products.push_back(product);
    layer.backward.products.push_back({product.rows, product.inner, product.columns, 1.0});
    const double summed = 2.0 * key.decoder.gradient_bytes * product.inner * product.columns;
    const bool apart = key.decoder.sums_apart;
    layer.backward.products.push_back({product.inner, product.columns, product.rows, 1.0,
                                       ProductKind::kWhole, apart ? 0.0 : summed});
    if (apart) layer.backward.sums += summed;
  }
  const double scores = score_flops(half, key);
  layer.forward.scores += scores;
  layer.backward.scores += (keeps_scores(key) ? kKeptBackward : kFusedBackward) * scores;
  const double passes = key.decoder.eager ? kEagerCrossPasses : kCrossPasses;
  const double elements = passes * h / divided(key.decoder) * tokens(key.decoder) +
                          2.0 * width * (tokens(key.decoder) + 2.0 * tokens(key.encoder));
  const double weights = key.decoder.eager ? 4.0 * h * width : 0.0;
  const double bytes = (elements + weights) * e + score_bytes(half, key);
  layer.forward.bytes += bytes;
  layer.backward.bytes += 2.0 * bytes;
  const double products = layer.backward.product_flops();
  layer.weight_share = 0.5 * products / (products + layer.backward.scores);
}

// As many collectives again as attention has in a layer: half of its.
void add_cross_traffic(SectionCounts& layer) {
  for (TensorTraffic& each : layer.traffic) {
    each.forward += each.forward / 2;
    each.recompute += each.recompute / 2;
    each.input_gradient += (each.input_gradient + 1) / 2;
    each.beside_input_gradient += each.beside_input_gradient / 2;
    each.beside_weight_gradient += (each.beside_weight_gradient + 1) / 2;
  }
}

void add_cross_memory(const EncoderDecoder& model, const PairKey& key, SectionCounts& layer) {
  const Architecture& half = model.decoder;
  const double e = key.decoder.element_bytes, h = half.hidden, width = inner(half, key);
  const double own = tokens(key.decoder) * (2.0 * h / divided(key.decoder) + 2.0 * width);
  const double other = 2.0 * width * tokens(key.encoder);
  const Bytes operands = whole((own + other) * e) + encoder_output(model, key);
  layer.stash += operands + whole(kept_scores(half, key));
  layer.weight_stash = std::min(layer.stash, layer.weight_stash + operands);
  const double working = keeps_scores(key) ? 2.0 * score_count(half, key) * e : 0.0;
  layer.working_peak = std::max(layer.working_peak, whole((own + other) * e + working));
}

SectionCounts with_encoder_output(SectionCounts counts, const EncoderDecoder& model,
                                  const PairKey& key) {
  counts.boundary += encoder_output(model, key);
  return counts;
}

Count bias_weights(const EncoderDecoder& model, const CountKey& key) {
  return Count{model.position_buckets} * model.encoder.heads / key.tensor_degree;
}

}  // namespace

SectionCounts count_encoder_embedding(const EncoderDecoder& model, const PairKey& key) {
  SectionCounts counts = count_embedding(model.encoder, key.encoder);
  counts.parameters += bias_weights(model, key.encoder);
  return counts;
}

SectionCounts count_encoder_end(const EncoderDecoder& model, const PairKey& key) {
  return count_end(model.encoder, EndKind::kNormOnly, key.encoder);
}

SectionCounts count_decoder_embedding(const EncoderDecoder& model, const PairKey& key) {
  SectionCounts counts =
      with_encoder_output(count_embedding(model.decoder, key.decoder), model, key);
  counts.parameters += bias_weights(model, key.decoder);
  return counts;
}

SectionCounts count_decoder_layer(const EncoderDecoder& model, const PairKey& key) {
  const Architecture& half = model.decoder;
  SectionCounts layer = count_layer(half, LayerKind::kDense, key.decoder);
  // The norm before it is among the layer's three.
  layer.parameters += attention_of(half).projections / key.decoder.tensor_degree;
  add_cross_work(half, key, layer);
  add_cross_traffic(layer);
  add_cross_memory(model, key, layer);
  return with_encoder_output(std::move(layer), model, key);
}

RecomputeCounts count_decoder_recompute(const EncoderDecoder& model, const PairKey& key,
                                        Recompute mode) {
  const SectionCounts layer = count_decoder_layer(model, key);
  RecomputeCounts out;
  out.traffic = layer.traffic;
  out.weight_stash = layer.weight_stash;
  out.stash = layer.stash;
  if (mode == Recompute::kFull) {
    out.again = layer.forward;
    out.stash = layer.boundary;  // its two inputs
  } else {
    // The scores alone are computed again; fused kernels keep none.
    const Bytes own = count_recompute(model.decoder, LayerKind::kDense, key.decoder, mode).stash;
    const Bytes all = count_layer(model.decoder, LayerKind::kDense, key.decoder).stash;
    out.again = count_recompute(model.decoder, LayerKind::kDense, key.decoder, mode).again;
    out.stash = layer.stash - (all - own);
    if (keeps_scores(key)) {
      out.again.scores += score_flops(model.decoder, key);
      out.again.bytes += score_bytes(model.decoder, key);
      out.stash = out.stash - whole(kept_scores(model.decoder, key));
    }
    for (TensorTraffic& each : out.traffic) each.recompute = 0;
  }
  out.working_peak = layer.working_peak + layer.stash - out.stash;
  return out;
}

std::int64_t parameter_count(const EncoderDecoder& model) {
  CountKey one;
  one.sequence_length = 1;
  const PairKey key{one, one};
  const Count table = vocabulary_rows(model.encoder, 1) * model.encoder.hidden;
  Count sum = count_encoder_embedding(model, key).parameters +
              count_encoder_end(model, key).parameters +
              count_decoder_embedding(model, key).parameters - table +
              count_end(model.decoder, EndKind::kNormAndHead, one).parameters;
  if (model.decoder.tied_head) sum -= table;
  sum += model.encoder.layers * layer_parameters(model.encoder, LayerKind::kDense, 1);
  sum += model.decoder.layers * count_decoder_layer(model, key).parameters;
  return sum;
}

}  // namespace penstock
