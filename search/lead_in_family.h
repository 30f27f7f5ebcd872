// Better cuts for what the fastest plan's own pins leave open.
#pragma once

#include "search/asked_to_stop.h"
#include "search/best_plans.h"
#include "search/evaluate.h"
#include "search/incumbents.h"
#include "search/lead_by_cuts.h"

namespace penstock {

// A family: one schedule, P, D, T, C, EP, micro-batch size, device type and recompute mode; V,
// sharding, placement and cuts differ.
bool are_of_one_family(const Plan& a, const Plan& b);

// That of the fastest plan is gone through once more, as if it were pinned, with a budget of its
// own for better cuts: so the question that pins these values finds nothing faster. Then that of
// the plan which leads now, a few times at most. `known` had whole searches for better cuts. Adds
// to `leaders` and `improved` as lead_by_cuts() does. Ends early where it is asked to. Not for
// books, nor for plans on several device types.
void lead_in_family(const PlanInputs& inputs, const SearchRequest& request,
                    const ImprovedPlans& known, ImprovedPlans& improved, Incumbents& leaders,
                    AskedToStop& asked_to_stop);

}  // namespace penstock
