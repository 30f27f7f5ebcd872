// The plan of a book for the ranks that there are. One of book_plan_search.cc and, in a program
// without the planner, verbs/planning_none.cc is linked.
#pragma once

#include <string>

#include "core/values/loaded.h"
#include "runtime_bridge/rank_devices.h"

namespace penstock {

// `path`: of the plan file that it would be, for people: "book.json (8 GPUs)".
// Error{kBadInput} where no plan of the book is for so few ranks.
// `of_types`: how many of them are on each device type; empty: nobody said, and the book counts
// none.
Loaded<PlanFile> plan_from_book(const std::string& path, int ranks, const RanksOfTypes& of_types);

}  // namespace penstock
