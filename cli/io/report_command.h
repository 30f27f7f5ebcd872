// Commands that stand in the HTML report, to be copied: what makes the report again, what gives one
// plan of it again, what hands a plan to a trainer.
#pragma once

#include <string>

#include "cli/io/answer.h"
#include "cli/io/shell_word.h"
#include "core/values/plan_file.h"

namespace penstock {

// Where the commands put plan 1 of a search.
inline constexpr const char* kPlanFile = "plan.json";

// `penstock plan` with everything of `plan` pinned, from the arguments of a report by search.
std::string command_for(const Plan& plan, const Arguments& arguments);

// `penstock export` for the first trainer that takes the whole plan, `penstock train` when only
// Penstock does; empty when none does. `path`: where the plan file is, or will be. A trainer that
// is preferred comes first.
std::string apply_command(const PlanFile& plan, const std::string& path,
                          const std::string& preferred = "");

}  // namespace penstock
