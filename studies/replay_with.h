// A plan file under another executor.
#pragma once

#include "core/values/executor_model.h"
#include "core/values/plan_file.h"

namespace penstock {

// Sets the executor; where it issues transfers in another order, the Program is lowered again.
void replay_with(const ExecutorModel& executor, PlanFile& file);

}  // namespace penstock
