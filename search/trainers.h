// The trainers that a plan can be made for, and what each of them can run.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/executor_model.h"
#include "core/plan.h"
#include "simulator/schedules/schedules.h"

namespace penstock {

enum class Trainer { kPenstock, kPytorch, kTorchtitan, kMegatron, kDeepspeed };

std::string_view name_of(Trainer trainer);
std::optional<Trainer> trainer_named(std::string_view name);
std::vector<std::string> trainer_names();

// How the trainer carries transfers out: Megatron's ranks are busy while they send, DeepSpeed's
// meet, in its order of sends; those of PyTorch's runtime, torchtitan and ours go on computing.
ExecutorModel executor_of(Trainer trainer);

// Why the trainer cannot run the schedule; empty when it can.
std::string why_not_run(Trainer trainer, const ScheduleKind& kind);
// Why it cannot run the plan, beyond its schedule: sizes.
std::string why_not_run(Trainer trainer, const Plan& plan);

}  // namespace penstock
