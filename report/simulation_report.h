// One plan file, replayed: what it does.
#pragma once

#include <string>
#include <vector>

#include "core/check/check.h"
#include "core/values/evaluation.h"
#include "core/values/plan_file.h"
#include "core/values/timeline.h"
#include "report/screen.h"

namespace penstock {

// "GPT-6.7B on 8 x p4d: T=1 P=8 ..., executor ideal" in lines, and an empty one.
std::string title_of(const PlanFile& file);
// The same as lines, and a blank one.
std::string heading_of(const PlanFile& file, Screen screen);

// Step time, bubbles, time and memory by rank, the step drawn (unless `timeline` is empty).
// `note`: behind the step time.
std::string simulation_report(const PlanFile& file, const Evaluation& evaluation,
                              const Timeline& timeline, const std::string& note, Screen screen);

// Why the step of so many micro-batches is not drawn, in a line.
std::string not_drawn_text(const Plan& plan);

// The findings of the checker, or that there are none.
std::string check_text(const CheckReport& report, const std::string& file, Screen screen);
// Of a file without findings whose micro-batches are too many for the checker's own replay.
std::string rolled_up_check_text(const CheckReport& report, const std::string& file);

}  // namespace penstock
