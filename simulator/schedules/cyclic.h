// DynaPipe's cyclic order (arXiv 2311.10418, section 5), as lists that run as soon as they can:
// "wait-free cyclic".
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/values/schedule.h"

namespace penstock {

// What the lists must fit into. Of micro-batches that differ, `taken` says what each one's forward
// takes on each stage until its backward has run.
struct CyclicMemory {
  std::span<const std::int64_t> room;   // per rank
  std::span<const std::int64_t> taken;  // [stage * micro-batches + micro-batch]
};

struct CyclicLists {
  std::vector<std::vector<ComputeAction>> lists;  // per rank
  std::vector<std::vector<int>> cycle;            // in which each of them ran
};

// F and B of all micro-batches, in order. With `memory` a rank lets a micro-batch in only when it
// has room for all that the micro-batch will hold on its stages, or when it holds nothing: so what
// fits alone always fits.
CyclicLists cyclic_lists(std::span<const int> rank_of_stage, int ranks, int micro_batches,
                         const CyclicMemory* memory = nullptr);

}  // namespace penstock
