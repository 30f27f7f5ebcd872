// A plan file replayed with one thing of its world changed at a time.
#pragma once

#include <vector>

#include "core/evaluation.h"
#include "core/plan_file.h"
#include "report/what_if.h"

namespace penstock {

// `now`: the evaluation of the unchanged file.
std::vector<WhatIf> gains_of_changes(const PlanFile& file, const Evaluation& now);

}  // namespace penstock
