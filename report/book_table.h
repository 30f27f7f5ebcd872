// A book of plans for people and for scripts: what every number of GPUs brings.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/values/json.h"
#include "core/values/plan_book.h"
#include "report/table.h"

namespace penstock {

// What the GPUs of a page bring: tokens a second, or samples where a sample has no length.
double speed_of(const BookPage& page);
// How much more that is than on the page before, as a share of it; nothing where that has no plan.
// Where pages count types: than on the fastest page for no more GPUs of any type.
std::optional<double> gain_of(const PlanBook& book, std::size_t page);

// A row per plan, with the numbers of GPUs for which it is the fastest; of more than `most` plans
// those that bring the most over the row before, and always the first and the last. `left_out`: how
// many plans have no row.
TextTable book_table(const PlanBook& book, std::size_t most, std::size_t& left_out);

// One object per page.
std::vector<Json> book_rows(const PlanBook& book);

}  // namespace penstock
