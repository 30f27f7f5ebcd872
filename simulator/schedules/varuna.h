// Varuna's static order: the lists that its rules for run time start from.
#pragma once

#include <vector>

#include "core/schedule.h"

namespace penstock {

// Per rank F, R (not on the last rank, which keeps its activations) and B of every micro-batch, by
// list scheduling in equal quanta. O(ranks * micro_batches), and complete whatever the sizes.
std::vector<std::vector<ComputeAction>> varuna_lists(int ranks, int micro_batches);

}  // namespace penstock
