// Why not otherwise: what a plan would be with some of its choices made otherwise.
#pragma once

#include "core/values/plan_file.h"
#include "report/why_not.h"
#include "search/question.h"

namespace penstock {

// `question`: that of the plan, with these choices pinned. Choices that contradict each other, the
// model or the cluster are an answer; so are more GPUs than the plan uses.
WhyNot why_not(const PlanFile& file, Question question, SearchProgress& progress);

}  // namespace penstock
