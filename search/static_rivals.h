// Where a question names automatic schedules, the cuts that their rivals would have brought.
#pragma once

#include <vector>

#include "search/asked_to_stop.h"
#include "search/best_plans.h"
#include "search/evaluate.h"
#include "search/incumbents.h"

namespace penstock {

// The best plans under static schedules of the same placement, their cuts improved, for
// lead_arranged(): what is good in one placement is good for all schedules there. A search that
// names no schedule has them anyway; without them it found cuts for an automatic schedule that the
// question which names it did not. None where no automatic schedule is named.
std::vector<Found> static_rivals(const PlanInputs& inputs, const SearchRequest& request,
                                 AskedToStop& asked_to_stop);

}  // namespace penstock
