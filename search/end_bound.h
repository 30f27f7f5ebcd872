// The bound of a plan whose wires are known, but which is not priced: what the search asks before
// it prices all stages of a candidate.
#pragma once

#include <vector>

#include "core/values/executor_model.h"
#include "core/values/plan.h"
#include "costmodel/step_prices.h"
#include "costmodel/transfer_prices.h"
#include "search/section_sums.h"
#include "simulator/held_counts.h"

namespace penstock {

// compute_bound() with the transfers behind every stage of full micro-batches (empty: not known)
// and the end of the step. On one device type.
Duration end_bound(const SectionSums& sums, const Plan& plan, BackwardKind backward,
                   const HeldCounts& held, const ExecutorModel& executor, const FirstStageEnd& end,
                   const std::vector<BoundaryTimes>& transfers);

}  // namespace penstock
