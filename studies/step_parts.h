// The step of a plan file, taken apart: what its busiest rank does and waits for, and what the step
// takes without each part.
#pragma once

#include <vector>

#include "core/values/plan_file.h"
#include "report/step_parts.h"
#include "search/evaluate.h"

namespace penstock {

// The times sum to the makespan and the executor's cost per step. What has a price is replayed at
// no price, on all ranks; of the rest, the step can save no more than the part itself (a bound).
std::vector<StepPart> step_parts(const PlanFile& file, const Replayed& replayed);

}  // namespace penstock
