// Varuna's static order: the lists that its rules for run time start from.
#pragma once

#include <algorithm>

#include "core/values/schedule.h"

namespace penstock {

// In groups of so many micro-batches a rank goes on once it has begun: list scheduling in equal
// quanta takes three for a recompute and the two halves of a backward.
constexpr int kVarunaGroup = 3;

// Forwards that a rank (not the last) does before its first recompute; after each group of
// recomputes and backwards it does as many more, until all are done.
constexpr int varuna_forwards_first(int ranks, int rank, int micro_batches) {
  return std::min(micro_batches, kVarunaGroup * (ranks - 1 - rank));
}

// Whether the schedule's lists are exactly those, whatever its rule.
bool has_varuna_order(const Schedule& schedule);

}  // namespace penstock
