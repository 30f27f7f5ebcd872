// Steps of so many micro-batches that they are worked out from their rolled-up lists.
#pragma once

#include <string>

#include "cli/io/files.h"
#include "core/values/plan.h"

namespace penstock {

// A step of more than 2^18 stages times micro-batches is not: its Program would have to be written
// out.
bool is_drawn(const Plan& plan);

// As read_plan() does, but a Program that is not drawn stays rolled up where it is that of the
// plan's schedule.
PlanFile read_plan_to_draw(const Json& json, const std::string& path);
Loaded<PlanFile> load_plan_to_draw(const std::string& path);

// A Program of too many actions for the timeline of a page stays rolled up.
PlanFile read_plan_for_page(const Json& json, const std::string& path);

// Written out with every action, for `what`; with more than `most_actions` of them refused before
// that, with the remedy.
Loaded<PlanFile> load_plan_written_out(const std::string& path, const std::string& what,
                                       std::int64_t most_actions, const std::string& remedy);

}  // namespace penstock
