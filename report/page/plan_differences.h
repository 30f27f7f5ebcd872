// What tells a plan from the first one of a report, and which plans are not worth a row of their
// own.
#pragma once

#include <string>

#include "core/evaluation.h"
#include "core/plan.h"

namespace penstock {

// "PP 4, DP 4, v-half, no recompute": the decisions of `plan` that `first` takes otherwise, in the
// order of a plan's words; "other cuts" where nothing else differs; empty for the same plan.
std::string differences_text(const Plan& first, const Plan& plan);

// Whether a reader who has seen `shown` learns nothing from `plan`: both divide the work over the
// same ranks with the same schedule, and differ in cuts, recomputed sections, placement or ZeRO-1
// alone; or in the schedule, too, but neither step time nor memory differ by more than 1 %.
bool looks_like(const RankedPlan& shown, const RankedPlan& plan);

}  // namespace penstock
