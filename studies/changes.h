// A plan file replayed with one thing of its world changed at a time.
#pragma once

#include <vector>

#include "core/values/evaluation.h"
#include "core/values/plan_file.h"
#include "report/what_if.h"

namespace penstock {

// The step of a file with other prices and another executor that issues in the same order, by a
// fresh replay.
Duration step_with(const PlanFile& file, const StagePrices& prices, const ExecutorModel& executor);
// `change` touches prices and executor only.
Duration step_after(const PlanFile& file, void (*change)(PlanFile&));

// What used to take time takes none.
void free_transfers(PlanFile& file);
void free_reductions(PlanFile& file);  // norm and gathers as well
void free_optimizer(PlanFile& file);

// The step without each of these three.
std::vector<WhatIf> gains_of_removals(const PlanFile& file);
// The step with the same work in other places, and the bounds of what that can gain. `now`: the
// evaluation of the unchanged file. The last of them, which mixed plans lack, is what other cuts
// and another order of the same actions can reach at best.
std::vector<WhatIf> gains_of_rearranging(const PlanFile& file, const Evaluation& now);
// Both, in this order.
std::vector<WhatIf> gains_of_changes(const PlanFile& file, const Evaluation& now);

}  // namespace penstock
