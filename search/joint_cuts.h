// Cuts for several stages per rank: what counts is what a rank does and holds with all of its
// stages.
#pragma once

#include <optional>
#include <vector>

#include "core/values/plan.h"
#include "search/memory.h"
#include "search/section_sums.h"

namespace penstock {

// Cuts under which every rank fits, or none.
struct FittingCuts {
  std::optional<std::vector<int>> cuts;
  bool none_is_proven = true;  // where there are no cuts: that there are none at all
};

// Moves sections between stages as long as the ranks are over memory by less (`memory` may be
// null), then as long as the busiest of them gets less busy, then as long as they get more even.
// Heuristic: a local optimum of moves that take a section from one stage and give another one more.
std::vector<int> evened_out(const RankSums& sums, const StageMemory* memory, const Plan& plan,
                            BackwardKind backward, std::vector<int> cuts);

// Whether cuts that fit may exist at all. "No" is proven; cheap.
bool may_fit(const StageMemory& memory, const Plan& plan);

// Whether pair_cuts() serves a plan: ranks that hold a piece from the front of the model and one
// from its back (two stages on the V, two copies of the weights), and memory that is monotone.
bool are_pairs(const StageMemory& memory, const Plan& plan);

// Cuts under which every rank fits; nothing when there are none. Exact. By dynamic programming over
// (sections taken from the front, sections taken from the back), rank by rank.
std::optional<std::vector<int>> pair_cuts(const StageMemory& memory, const Plan& plan,
                                          int sections);

}  // namespace penstock
