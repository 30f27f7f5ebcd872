// A layout whose TP nothing is known of, in the words of the model.
#pragma once

#include "core/values/plan.h"
#include "search/question.h"

namespace penstock {

// Error{kBadInput}: why there is no such TP, and which is the nearest.
void refuse_tensor(const Question& question, const Plan& plan);

}  // namespace penstock
