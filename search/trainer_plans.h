// Candidates as the trainer of the question can run them. The search chooses cuts and recompute
// without a thought of the trainer's files; where those cannot say a plan, it is moved to the
// nearest one that they can (core/values/trainer_limits.h).
#pragma once

#include <vector>

#include "search/evaluate.h"
#include "search/incumbents.h"
#include "search/rejections.h"
#include "search/trainers.h"

namespace penstock {

// In the same order and each once; those that the trainer cannot run, or that do not fit once
// moved, are rejected.
std::vector<Found> plans_for(Trainer trainer, const PlanInputs& inputs,
                             const std::vector<Found>& found, int threads, Rejections& rejected);

}  // namespace penstock
