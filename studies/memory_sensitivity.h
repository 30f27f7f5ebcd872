// What a plan's speed owes to the memory of its devices.
#pragma once

#include "core/values/plan_file.h"
#include "report/sensitivity.h"
#include "search/question.h"

namespace penstock {

// The search asks again with less and with more memory, for plans with the same P, D, T and device
// type. `file` is not mixed, `question` is its own, `now` is its evaluation.
void ask_memory(const PlanFile& file, const Evaluation& now, const Question& question,
                SearchProgress& progress, Sensitivities& all);

}  // namespace penstock
