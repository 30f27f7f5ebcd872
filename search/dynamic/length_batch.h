// The samples of one global batch by their lengths, and the one rounding from lengths to shapes:
// split, costs and data loader all ask here.
#pragma once

#include <cstdint>
#include <vector>

#include "core/values/batch.h"
#include "core/values/sample_lengths.h"

namespace penstock {

// A sample is named by its place in this list.
using LengthBatch = std::vector<SampleLength>;

// From the longest lengths of a micro-batch to its shape.
struct LengthRounding {
  int multiple = 8;       // lengths are multiples of it
  int left_out = 1;       // tokens of a sample that are not fed: 1 where each predicts the next
  int decoder_extra = 2;  // tokens that a target gets in addition; 0 tokens stay 0
  int separator = 1;      // tokens between samples packed into one row
  bool operator==(const LengthRounding&) const = default;
};

// What is fed of one sample, padding not counted.
SampleLength fed_of(const SampleLength& sample, const LengthRounding& rounding);
// The longer of each.
SampleLength longest_of(const SampleLength& a, const SampleLength& b);
// So many rows that hold up to `fed` tokens each.
MicroBatchShape padded_shape(int rows, const SampleLength& fed, const LengthRounding& rounding);

// Tokens that a loss is taken of: targets where there are any, else what is fed.
std::int64_t loss_tokens_of(const SampleLength& sample, const LengthRounding& rounding);
// What is fed of a sample, encoder and decoder together.
std::int64_t real_tokens_of(const SampleLength& sample, const LengthRounding& rounding);

// Error{kBadInput} with the place of the first sample that cannot be: of less than two tokens where
// one is left out, of negative lengths, with a target where others have none.
void require_lengths(const LengthBatch& batch, const LengthRounding& rounding);

}  // namespace penstock
