// What the sections of an encoder-decoder model hold, compute, move and keep, by both lengths. The
// encoder's are those of a model without causality; a decoder's layer is one of a decoder-only
// model and attention to what the encoder made, which travels on with the boundary.
#pragma once

#include <cstdint>

#include "core/values/encoder_decoder.h"
#include "estimator/count_operations.h"
#include "estimator/count_recompute.h"

namespace penstock {

// A CountKey of each half: they differ in their lengths.
struct PairKey {
  CountKey encoder, decoder;
};

SectionCounts count_decoder_embedding(const EncoderDecoder& model, const PairKey& key);
SectionCounts count_decoder_layer(const EncoderDecoder& model, const PairKey& key);
RecomputeCounts count_decoder_recompute(const EncoderDecoder& model, const PairKey& key,
                                        Recompute mode);
// Norm behind the encoder's last layer.
SectionCounts count_encoder_end(const EncoderDecoder& model, const PairKey& key);
// Of the embedding of the encoder: the table, and the relative positions of that half.
SectionCounts count_encoder_embedding(const EncoderDecoder& model, const PairKey& key);

// The whole model; the table of words once.
std::int64_t parameter_count(const EncoderDecoder& model);

}  // namespace penstock
