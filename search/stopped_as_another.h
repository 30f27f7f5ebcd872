// A question that a search asks on the way to its own answer.
#pragma once

#include <vector>

#include "search/asked_to_stop.h"
#include "search/best_plans.h"
#include "search/incumbents.h"

namespace penstock {

// The best plans of `asked`, whose search touches no counts of the one that asks. It ends where
// that one is to end, which `asked_to_stop` then knows: the one that asks is not complete either.
std::vector<Found> found_by_another(const PlanInputs& inputs, const SearchRequest& asked,
                                    AskedToStop& asked_to_stop);

}  // namespace penstock
