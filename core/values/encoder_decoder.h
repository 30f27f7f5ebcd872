// A transformer of an encoder and a decoder that attends to what the encoder made (T5,
// arXiv 1910.10683), read from a Hugging Face config.json: sizes only.
#pragma once

#include <string>

#include "core/values/architecture.h"
#include "core/values/json.h"

namespace penstock {

// Both halves as if each were a model of its own, alike but for their layers and for who sees whom.
// They share one table of words.
struct EncoderDecoder {
  Architecture encoder, decoder;  // the name and what was assumed stand in both
  int position_buckets = 0;  // of relative positions: a weight per head and bucket in each half
  bool operator==(const EncoderDecoder&) const = default;
};

// Whether the file describes one that is known here: T5, mT5.
bool is_encoder_decoder(const Json& json);
// Error{kBadInput} with file, line, field and remedy.
EncoderDecoder read_encoder_decoder(const Json& json, const std::string& file);

}  // namespace penstock
