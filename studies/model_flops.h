// What an MFU is measured by, for the model and the devices of a question.
#pragma once

#include <optional>

#include "core/values/model_flops.h"
#include "core/values/plan.h"
#include "search/question.h"

namespace penstock {

// Of a config.json the operations of its architecture; of a measured profile 6 per parameter and
// token, without its embedding. Nothing for a model that has no tokens. The peaks are those of the
// datasheets, of the arithmetic that the model is trained in.
std::optional<ModelFlops> model_flops_of(const Question& question, int sequence_length);
// The same for one plan: with the peaks of its device types alone.
std::optional<ModelFlops> model_flops_of(const Question& question, const Plan& plan);

}  // namespace penstock
