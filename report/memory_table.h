// Memory by rank and category, and which rank is the tightest.
#pragma once

#include <string>

#include "core/values/evaluation.h"
#include "core/values/plan.h"
#include "core/values/plan_file.h"
#include "report/screen.h"
#include "report/table.h"

namespace penstock {

// One row per rank, in a mixed plan with its device type, in GiB.
TextTable memory_rows(const Evaluation& evaluation, const Plan& plan);
std::string memory_table(const Evaluation& evaluation, const Plan& plan, Screen screen);

// "Rank 0 is the tightest: 37.2 of 39.6 GiB, 2.4 GiB left; most of it is stash (18.3 GiB)."
std::string tightest_rank_text(const Evaluation& evaluation);

// "the limit is 60.0 GiB of the 79.2 that a GPU has"; empty of a plan without one.
std::string memory_limit_text(const PlanFile& file);

}  // namespace penstock
