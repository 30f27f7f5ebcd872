// The answer of a report in one sentence, and how far it can be trusted.
#pragma once

#include <string>

#include "core/evaluation.h"
#include "core/plan.h"

namespace penstock {

// "On 64 GPUs, use TP 1 x PP 4 x DP 16, mbs 1, ...: 4.688 s a step (4.449 s to 4.927 s), 223,678
// tokens/s; 3.8 GiB left on the fullest rank (PP rank 0)."
std::string verdict_text(const Plan& plan, const Evaluation& evaluation);

// Where the times come from: "calibrated" (fitted to runs on this machine), "estimated" (no time of
// the model was measured), else "measured".
std::string confidence_of(const Evaluation& evaluation);

}  // namespace penstock
