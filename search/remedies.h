// Reasons with the smallest change that would help.
#pragma once

#include <string>

#include "core/values/evaluation.h"
#include "search/evaluate.h"
#include "search/rejections.h"

namespace penstock {

// The reason in words; for memory, the first single change of the closest plan that fits: ZeRO-1,
// another recompute mode, a smaller micro-batch, more stages, a higher tensor degree; those that
// need more than `gpus` devices last.
Rejection with_remedy(const PlanInputs& inputs, const Rejections::Entry& entry, int gpus);

// "TP 4 x PP 8 x DP 2, mbs 1, 1f1b, no recompute"
std::string plan_words(const Plan& plan);

}  // namespace penstock
