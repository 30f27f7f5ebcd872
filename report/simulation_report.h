// One plan file, replayed: what it does, and what binds it.
#pragma once

#include <string>
#include <vector>

#include "core/check.h"
#include "core/evaluation.h"
#include "core/plan_file.h"
#include "core/timeline.h"
#include "report/what_if.h"

namespace penstock {

// Step time, bubbles, time and memory by rank, the step drawn. `note`: behind the step time.
std::string simulation_report(const PlanFile& file, const Evaluation& evaluation,
                              const Timeline& timeline, const std::string& note);

// What binds the plan, where its time goes, what each change would gain, what it rests on.
std::string explanation(const PlanFile& file, const Evaluation& evaluation,
                        const std::vector<WhatIf>& changes);

// The findings of the checker, or that there are none.
std::string check_text(const CheckReport& report, const std::string& file);

}  // namespace penstock
