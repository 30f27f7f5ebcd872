#include "search/dynamic/length_batch.h"

#include <algorithm>
#include <string>

#include "core/values/error.h"

namespace penstock {
namespace {

int round_up(int tokens, int multiple) {
  return (std::max(tokens, 1) + multiple - 1) / multiple * multiple;
}

}  // namespace

SampleLength fed_of(const SampleLength& sample, const LengthRounding& rounding) {
  SampleLength fed;
  fed.tokens = sample.tokens - rounding.left_out;
  if (sample.decoder_tokens > 0) {
    fed.decoder_tokens = sample.decoder_tokens + rounding.decoder_extra;
  }
  return fed;
}

SampleLength longest_of(const SampleLength& a, const SampleLength& b) {
  return {std::max(a.tokens, b.tokens), std::max(a.decoder_tokens, b.decoder_tokens)};
}

MicroBatchShape padded_shape(int rows, const SampleLength& fed, const LengthRounding& rounding) {
  MicroBatchShape shape;
  shape.samples = rows;
  shape.tokens = round_up(fed.tokens, rounding.multiple);
  if (fed.decoder_tokens > 0) {
    shape.decoder_tokens = round_up(fed.decoder_tokens, rounding.multiple);
  }
  return shape;
}

std::int64_t loss_tokens_of(const SampleLength& sample, const LengthRounding& rounding) {
  if (sample.decoder_tokens > 0) return sample.decoder_tokens;
  return sample.tokens - rounding.left_out;
}

std::int64_t real_tokens_of(const SampleLength& sample, const LengthRounding& rounding) {
  const SampleLength fed = fed_of(sample, rounding);
  return std::int64_t{fed.tokens} + fed.decoder_tokens;
}

void require_lengths(const LengthBatch& batch, const LengthRounding& rounding) {
  if (rounding.multiple < 1 || rounding.left_out < 0 || rounding.decoder_extra < 0 ||
      rounding.separator < 0) {
    throw_bad_input("rounding of lengths: the multiple must be at least 1, nothing else negative");
  }
  if (batch.empty()) throw_bad_input("a batch needs at least one sample");
  const bool decodes = batch.front().decoder_tokens > 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const SampleLength& sample = batch[i];
    const std::string name = "sample " + std::to_string(i);
    if (sample.tokens <= rounding.left_out) {
      throw_bad_input(
          name + " has " + std::to_string(sample.tokens) + " tokens, expected at least " +
          std::to_string(rounding.left_out + 1) +
          (rounding.left_out > 0 ? " (the first predicts the next); leave it out" : ""));
    }
    if (sample.decoder_tokens < 0 || decodes != (sample.decoder_tokens > 0)) {
      throw_bad_input(name + " has " + std::to_string(sample.decoder_tokens) +
                      " tokens for a decoder, sample 0 has " +
                      std::to_string(batch.front().decoder_tokens) +
                      "; give every sample a target, or none");
    }
  }
}

}  // namespace penstock
