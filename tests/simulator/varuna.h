// Varuna's Programs with given prices, as the tests of its rules use them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/values/program.h"
#include "core/values/schedule.h"
#include "core/values/stage_prices.h"

namespace penstock::testing {

// Per rank F, R (not on the last rank, which keeps its activations) and B of every micro-batch, by
// list scheduling in equal quanta: what Varuna describes.
std::vector<std::vector<ComputeAction>> varuna_lists(int ranks, int micro_batches);
// Compute and transfers only.
Program varuna_program(int ranks, int micro_batches, RunTimeRule rule);

struct VarunaCosts {
  std::int64_t forward = 0, backward = 0;  // a recompute takes as long as a forward
  std::int64_t near = 0, far = 0;          // a transfer within a group of ranks, between groups
  int group = 1;
};
StagePrices varuna_prices(int ranks, const VarunaCosts& costs);

}  // namespace penstock::testing
