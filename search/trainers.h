// What the trainers of a plan can run: schedules here, sizes and cuts in
// core/values/trainer_limits.h.
#pragma once

#include <string>

#include "core/values/executor_model.h"
#include "core/values/trainer_limits.h"
#include "core/values/trainers.h"
#include "simulator/schedules/schedules.h"

namespace penstock {

// How the trainer carries transfers out: Megatron's ranks are busy while they send, DeepSpeed's
// meet, in its order of sends; those of PyTorch's runtime, torchtitan and ours go on computing.
ExecutorModel executor_of(Trainer trainer);

// Why the trainer cannot run the schedule; empty when it can.
std::string why_not_run(Trainer trainer, const ScheduleKind& kind);
// Why it cannot run a plan of these sizes with it, whatever its cuts.
std::string why_not_run(Trainer trainer, const ScheduleKind& kind, const Plan& plan);

}  // namespace penstock
