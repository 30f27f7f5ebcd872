// The fastest plan for every number of GPUs, by one search: a book of plans.
#pragma once

#include <vector>

#include "core/values/plan_book.h"
#include "search/question.h"

namespace penstock {

// `sizes`: ascending. Nothing when `progress` ended the search. The book's inputs are those of the
// question as they are priced: calibrated, where it is.
std::optional<PlanBook> find_book(const Question& question, const std::vector<int>& sizes,
                                  SearchProgress& progress);

}  // namespace penstock
