// What the questions of `explain` about a changed world have in common: replaying a plan at other
// prices, and saying what came of it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/values/plan_file.h"
#include "core/values/stage_prices.h"
#include "report/sensitivity.h"

namespace penstock {

// The step of the file's own Program at these prices.
Duration step_at(const PlanFile& file, const StagePrices& prices);

// `now`: the step as it is; `samples`: of the new step, as a multiple of the plan's own.
Outcome outcome_of(std::string change, Duration now, Duration step, double samples = 1.0);
Outcome refused(std::string change, std::string why_not);

// How many questions of so many replays each are asked of one plan at most, so that a large one is
// still answered in seconds: a number, and no clock, since the answer must be the same everywhere.
std::size_t most_questions(const PlanFile& file, std::size_t replays_each);

// Appends those with the strongest effect, five at most, ties in order.
void add_strongest(std::vector<Sensitivity> rows, Sensitivities& all);

}  // namespace penstock
