// Candidates as the trainer of the question can run them. Cuts are balanced without a thought of
// the trainer's files; where those cannot say a plan, it is moved to the nearest one that they can
// (core/values/trainer_limits.h), before it is replayed: only what the trainer can run becomes an
// incumbent, and no plan loses against one that it cannot run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "search/evaluate.h"
#include "search/incumbents.h"
#include "search/rejections.h"
#include "search/trainers.h"

namespace penstock {

// The plan as the trainer can run it: itself, or with the nearest cuts and recompute that its files
// can say. Nothing when there are none; then `why_not` says why.
std::optional<Plan> as_run_by(const Trainer& trainer, const Plan& plan,
                              const std::vector<std::string>& sections, std::string& why_not);

std::vector<std::string> names_of_sections(const ModelProfile& profile);

// In the same order and each once; those that the trainer cannot run, or that do not fit once
// moved, are rejected.
std::vector<Found> plans_for(const Trainer& trainer, const PlanInputs& inputs,
                             const std::vector<Found>& found, int threads, Rejections& rejected);

}  // namespace penstock
