// --why-not: what a plan would be with some of its choices made otherwise.
#pragma once

#include <string>

#include "cli/options/search_options.h"
#include "report/why_not.h"

namespace penstock {

// `text`: "P=8,D=8". Error{kBadInput} for a key that is no choice of a plan (with the nearest), one
// that is given twice, and a value that is none. Choices that contradict each other, the model or
// the cluster are an answer. `question`: that of the plan.
WhyNot why_not(const PlanFile& file, Question question, const std::string& text,
               SearchProgress& progress);

}  // namespace penstock
