// What a plan's speed depends on: the plan with one thing of its world changed at a time.
#pragma once

#include "core/values/plan_file.h"
#include "report/sensitivity.h"
#include "search/question.h"
#include "simulator/scenario.h"

namespace penstock {

// Stages, sections, links, batch and micro-batch size: the same layout, re-priced and replayed.
// Memory: where the plan has no use for it, or no longer fits, the search asks again with the same
// P, D and T. Without a question only what the plan's own prices can tell; the rest is listed as
// not answered. `file` and its
// evaluation `now` are under `scenario` already.
Sensitivities sensitivities_of(const PlanFile& file, const Evaluation& now,
                               const PlanQuestion& asked, const Scenario& scenario,
                               SearchProgress& progress);

}  // namespace penstock
