// Improves the cuts of a plan with several stages per rank, where no exact method is used: single
// sections move across the boundaries of the busiest rank as long as the replayed step gets
// shorter, beginning at the plan's cuts and once more at equal ones.
#pragma once

#include "core/plan.h"
#include "search/evaluate.h"

namespace penstock {

// The improved plan (or `plan` itself), never slower than with equal cuts, if those fit. Heuristic:
// a local optimum.
Plan improve_by_local_moves(const PlanInputs& inputs, const Plan& plan);

// The same with every move fully evaluated: what works for every plan, and what the short cut for
// static schedules is compared with.
Plan improve_by_evaluated_moves(const PlanInputs& inputs, const Plan& plan);

}  // namespace penstock
