// The trainers that a plan can be made for, and what each of them can run.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan.h"
#include "simulator/schedules/schedules.h"

namespace penstock {

enum class Trainer { kPenstock, kPytorch, kTorchtitan, kMegatron, kDeepspeed };

std::string_view name_of(Trainer trainer);
std::optional<Trainer> trainer_named(std::string_view name);
std::vector<std::string> trainer_names();

// Why the trainer cannot run the schedule; empty when it can.
std::string why_not_run(Trainer trainer, const ScheduleKind& kind);
// Why it cannot run the plan, beyond its schedule: sizes.
std::string why_not_run(Trainer trainer, const Plan& plan);

}  // namespace penstock
