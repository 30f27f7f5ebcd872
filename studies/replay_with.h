// A plan file under another executor.
#pragma once

#include "core/values/executor_model.h"
#include "core/values/plan_file.h"

namespace penstock {

// Sets the executor; where it issues transfers in another order or updates at another time, the
// Program is lowered again. Error{kBadInput} for lists that no schedule makes.
void replay_with(const ExecutorModel& executor, PlanFile& file);

}  // namespace penstock
