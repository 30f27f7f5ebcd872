// The order in which the groups of a book's search are taken up.
#pragma once

#include "search/best_plans.h"
#include "search/candidates.h"
#include "search/group_search.h"
#include "search/incumbents.h"

namespace penstock {

// Sorts the groups of a search for several numbers of GPUs by what they take at least when memory
// counts, too: the fastest plan of every number is then found early, and the rest loses against it.
// The same for any number of threads.
void order_by_memory(const PlanInputs& inputs, const SearchRequest& request,
                     const Incumbents& incumbents, SearchShared& shared, SearchSpace& space);

}  // namespace penstock
