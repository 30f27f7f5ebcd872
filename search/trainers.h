// What the trainer of a question can run: schedules here, sizes and cuts in
// core/values/trainer_limits.h.
#pragma once

#include <string>

#include "core/values/trainer.h"
#include "core/values/trainer_limits.h"
#include "simulator/schedules/schedules.h"

namespace penstock {

// Why the trainer cannot run the schedule; empty when it can.
std::string why_not_run(const Trainer& trainer, const ScheduleKind& kind);
// Why it cannot run a plan of these sizes with it, whatever its cuts.
std::string why_not_run(const Trainer& trainer, const ScheduleKind& kind, const Plan& plan);

}  // namespace penstock
