// The plan file of a page of a book: what the ranks of a job run that found so many GPUs.
#pragma once

#include <string>
#include <vector>

#include "core/values/plan_book.h"
#include "core/values/plan_file.h"

namespace penstock {

// The page with the most GPUs that are not more than `gpus`. Error{kBadInput} where no plan of the
// book is for so few, naming the fewest; `file`: the book's path.
const BookPage& page_for(const PlanBook& book, int gpus, const std::string& file);
// Of a book that counts types: the fastest page for no more of any type than there are.
const BookPage& page_for(const PlanBook& book, const std::vector<int>& of_types,
                         const std::string& file);

// What a page's plan is priced on: the book's cluster, or the part of it that the plan was found
// on.
ClusterSpec cluster_of(const PlanBook& book, const BookPage& page);
// Of a plan that may stand on no page: then the part with as many GPUs of each type as it uses.
ClusterSpec cluster_of(const PlanBook& book, const Plan& plan);

// The same on every rank that asks: the page's plan, priced and laid out again.
PlanFile plan_of_page(const PlanBook& book, const BookPage& page, const std::string& file);

}  // namespace penstock
