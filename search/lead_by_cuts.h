// Better cuts for the candidates that these may bring to the front.
#pragma once

#include <vector>

#include "search/asked_to_stop.h"
#include "search/best_plans.h"
#include "search/evaluate.h"
#include "search/group_search.h"
#include "search/incumbents.h"

namespace penstock {

// `contenders` are sorted, the most promising ones first: they are tried in this order, within a
// budget of work for static schedules and one for arranged ones, until no other may lead. What
// better cuts find is added to `leaders`; `known` got better cuts before. Ends early where it is
// asked to. The same for any number of threads.
void lead_by_cuts(const PlanInputs& inputs, const SearchRequest& request,
                  const std::vector<Found>& known, const std::vector<Contender>& contenders,
                  Incumbents& leaders, AskedToStop& asked_to_stop);

}  // namespace penstock
