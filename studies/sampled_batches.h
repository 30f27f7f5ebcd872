// Global batches as training would draw them: the samples of an epoch in a random order, taken one
// after the other until a batch holds its tokens.
#pragma once

#include <cstdint>
#include <vector>

#include "search/dynamic/length_batch.h"

namespace penstock {

struct SampledBatches {
  std::int64_t tokens = 65536;  // of a batch at most, padding not counted
  int count = 20;
  std::uint64_t seed = 1;
};

// A batch ends before the sample that would be too much, which begins the next one; behind the last
// sample the next epoch begins, in another order. Of a sample with more tokens than a batch the
// batch is made of it alone. `samples` must not be empty.
std::vector<LengthBatch> sampled_batches(const LengthBatch& samples, const LengthRounding& rounding,
                                         const SampledBatches& asked);

}  // namespace penstock
