// The plan file of a page of a book: what the ranks of a job run that found so many GPUs.
#pragma once

#include <string>

#include "core/values/plan_book.h"
#include "core/values/plan_file.h"

namespace penstock {

// The page with the most GPUs that are not more than `gpus`. Error{kBadInput} where no plan of the
// book is for so few, naming the fewest; `file`: the book's path.
const BookPage& page_for(const PlanBook& book, int gpus, const std::string& file);

// The same on every rank that asks: the page's plan, priced and laid out again.
PlanFile plan_of_page(const PlanBook& book, const BookPage& page, const std::string& file);

}  // namespace penstock
