// What tells a plan from the first one of a report, and which plans are not worth a row of their
// own.
#pragma once

#include <string>

#include "core/values/plan.h"

namespace penstock {

// "PP 4, DP 4, v-half, no recompute": the decisions of `plan` that `first` takes otherwise, in the
// order of a plan's words; "other cuts" where nothing else differs; empty for the same plan.
std::string differences_text(const Plan& first, const Plan& plan);

}  // namespace penstock
