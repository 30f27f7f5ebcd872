// Why a plan takes the time that it takes: what binds it, where the time goes, what would change
// it.
#pragma once

#include <string>
#include <vector>

#include "core/values/evaluation.h"
#include "core/values/plan_file.h"
#include "report/screen.h"
#include "report/sensitivity.h"
#include "report/step_parts.h"
#include "report/what_if.h"
#include "report/why_not.h"
#include "report/work_terms.h"

namespace penstock {

struct Explanation {
  Evaluation evaluation;           // of a fresh replay
  std::vector<StepPart> parts;     // of the busiest rank
  WorkTerms work;                  // likewise
  std::vector<WhatIf> rearranged;  // the same work in other places
  Sensitivities sensitivities;
};

std::string explanation(const PlanFile& file, const Explanation& about, Screen screen);

// The answer to one question about another plan. `evaluation`: of this one.
std::string why_not_report(const PlanFile& file, const Evaluation& evaluation, const WhyNot& why,
                           Screen screen);

}  // namespace penstock
