// What a plan's speed owes to its stages and to the sections of the model.
#pragma once

#include "core/values/plan_file.h"
#include "report/sensitivity.h"
#include "search/question.h"

namespace penstock {

// One stage at a time a tenth slower, and in a tenth less time, by the plan's own prices.
void ask_stages(const PlanFile& file, Duration now, Sensitivities& all);

// All sections of one type, then one section at a time, in a tenth less time. `question`: of this
// very plan.
void ask_sections(const PlanFile& file, const Question& question, Duration now, Sensitivities& all);

}  // namespace penstock
