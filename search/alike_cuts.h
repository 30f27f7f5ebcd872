// Cuts for several stages per rank of a model whose sections, but for the first and the last, all
// hold the same bytes, as the layers of a transformer do: what a rank holds then depends only on
// how many sections each of its stages has, and no rank on what the others have.
#pragma once

#include "core/values/plan.h"
#include "search/joint_cuts.h"
#include "search/memory.h"
#include "search/section_sums.h"

namespace penstock {

// Whether alike_cuts() serves a plan: memory is monotone, and the sections are alike.
bool are_alike(const RankSums& sums, const StageMemory& memory, const Plan& plan);

// Cuts under which every rank fits; nothing when there are none. For every map of stages: the most
// sections that each rank can hold are found by themselves, and fewer always fit. Exact but where
// many stages per rank leave more numbers of sections than are tried. Of the numbers of sections
// per rank that fit it takes those with the least busy busiest rank.
FittingCuts alike_cuts(const RankSums& sums, const StageMemory& memory, const Plan& plan,
                       BackwardKind backward);

}  // namespace penstock
