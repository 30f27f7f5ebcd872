// What no search can answer is refused before it begins.
#pragma once

#include "search/best_plans.h"

namespace penstock {

// Error{kBadInput}, which names what is wrong and what would do.
void refuse_request(const PlanInputs& inputs, const SearchRequest& request);

}  // namespace penstock
