// The fastest plan for every number of GPUs, by one search: a book of plans.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/values/plan_book.h"
#include "search/question.h"

namespace penstock {

// `sizes`: ascending. Nothing when `progress` ended the search. The book's inputs are those of the
// question as they are priced: calibrated, where it is.
std::optional<PlanBook> find_book(const Question& question, const std::vector<int>& sizes,
                                  SearchProgress& progress);

// The same for numbers of GPUs of each of `types`: one search for each of `counts`, on that part of
// the cluster. A page whose plan would be slower than one of fewer GPUs has the latter.
std::optional<PlanBook> find_book_of_types(const Question& question,
                                           const std::vector<std::string>& types,
                                           const std::vector<std::vector<int>>& counts,
                                           SearchProgress& progress);

}  // namespace penstock
