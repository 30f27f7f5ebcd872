// The bound of a plan whose wires are known, but which is not priced: what the search asks before
// it prices all stages of a candidate.
#pragma once

#include <vector>

#include "core/values/executor_model.h"
#include "core/values/plan.h"
#include "costmodel/step_prices.h"
#include "costmodel/transfer_prices.h"
#include "search/recompute_as_needed.h"
#include "search/section_sums.h"
#include "simulator/held_counts.h"

namespace penstock {

// What the wires of a plan say of its step: the end of it, and the transfers behind every stage of
// full micro-batches (empty: not known).
struct WiredTimes {
  FirstStageEnd end;
  std::vector<BoundaryTimes> transfers;
};

// compute_bound() with these as well. By the sums of every rank.
Duration end_bound(const RankSums& sums, const Plan& plan, BackwardKind backward,
                   const HeldCounts& held, const ExecutorModel& executor, const WiredTimes& wired);
// The same of a plan in which some sections recompute, by its division.
Duration end_bound(const RecomputeSums& sums, const Plan& divided, BackwardKind backward,
                   const HeldCounts& held, const ExecutorModel& executor, const WiredTimes& wired);

}  // namespace penstock
