// How an estimate was asked for, in a plan file: without it nobody could make the estimate again.
#pragma once

#include <vector>

#include "cli/options/model_input.h"
#include "core/values/plan_file.h"

namespace penstock {

// What is not usual of it, and shows in the prices of the plan.
std::vector<EstimateOption> estimate_options_of(const EstimatedModel& estimated, const Plan& plan);

// The settings that have these options, and else what is usual; absent: one of them is of another
// version.
std::optional<EstimateSettings> settings_with(const std::vector<EstimateOption>& options);

}  // namespace penstock
