// Cuts for a plan whose schedule is worked out for it (an automatic one, a run-time rule). What it
// holds is known only then; cuts are chosen by what a static stand-in holds, and where they do not
// fit others may.
#pragma once

#include <vector>

#include "core/values/plan.h"
#include "search/evaluate.h"

namespace penstock {

struct OtherCuts {
  std::vector<int> cuts;   // the fastest of those that fit; empty when none of those tried does
  bool all_tried = false;  // there are no others
};

// `plan`: with the cuts that did not fit.
OtherCuts other_cuts(const PlanInputs& inputs, const Plan& plan);

}  // namespace penstock
