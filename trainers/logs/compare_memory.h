// What a trainer's log says of memory, beside what a plan predicts.
#pragma once

#include <vector>

#include "core/values/plan_file.h"
#include "report/validation.h"
#include "trainers/logs/trainer_log.h"

namespace penstock {

// Ranks as Megatron-LM numbers them by default, those of one pipeline rank side by side; a rank
// that the plan does not have is left out. Of a log that names no rank the fullest rank is
// predicted.
std::vector<MemoryComparison> compare_memory(const PlanFile& plan,
                                             const std::vector<LoggedMemory>& memory);

}  // namespace penstock
