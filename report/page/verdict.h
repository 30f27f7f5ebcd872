// The answer of a report in one sentence, and how far it can be trusted.
#pragma once

#include <optional>
#include <string>

#include "core/values/evaluation.h"
#include "core/values/plan.h"
#include "report/model_flops.h"

namespace penstock {

// The sentence of `penstock plan`, and whether the plan fits. `gpus`: how many there are; 0: as
// many as the plan has.
std::string verdict_text(const Plan& plan, const Evaluation& evaluation, int gpus = 0,
                         const std::optional<ModelFlops>& flops = {});

// Where the times come from: "calibrated" (fitted to runs on this machine), "estimated" (no time of
// the model was measured), else "measured".
std::string confidence_of(const Evaluation& evaluation);

}  // namespace penstock
