// How far the ratio of two predicted step times may be off. Plans of one question share the
// machine, the model and what was thought of them, and that cancels: a device that is faster than
// its sheet makes both faster. What is left is what the plans differ in. Ties, why-not and the
// front go by it.
#pragma once

#include <vector>

#include "core/values/evaluation.h"

namespace penstock {

// Relative; nine of ten measured ratios lie within it around the predicted one. From
// docs/cost_model.md, "Two plans of one question".
double relative_half_width(const RankedPlan& a, const RankedPlan& b);

// Sets `against_best` and `tied_with_best` of plans that ascend in step time.
void compare_with_best(std::vector<RankedPlan>& plans);

}  // namespace penstock
