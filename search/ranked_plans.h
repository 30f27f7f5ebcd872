// The plans that a search shows: evaluated in full, in words, in order, and which of them no other
// beats in time, memory and price.
#pragma once

#include <vector>

#include "core/values/evaluation.h"
#include "search/evaluate.h"
#include "search/incumbents.h"

namespace penstock {

std::vector<RankedPlan> ranked_plans(const PlanInputs& inputs, const std::vector<Found>& found,
                                     int threads);
void sort_by_step_time(std::vector<RankedPlan>& plans);
std::vector<RankedPlan> pareto_front(const std::vector<RankedPlan>& plans);

}  // namespace penstock
