// Schedules that are worked out for one plan (automatic ones, run-time rules): candidates like all
// others, but making one costs more than many bounds.
#pragma once

#include <optional>
#include <vector>

#include "core/values/evaluation.h"
#include "costmodel/price_stages.h"
#include "search/evaluate.h"
#include "search/incumbents.h"
#include "search/plan_program.h"
#include "search/prepared_plan.h"
#include "simulator/simulate_schedule.h"

namespace penstock {

struct ArrangedCandidate {
  Plan plan;         // with cuts
  Duration bound{};  // no arrangement of it is faster
};

struct ArrangedOutcome {
  std::optional<Rejection> why_not;
  Found found;
};
Rejection no_arrangement_fits(const Plan& plan);
ArrangedOutcome replay_arranged(const PlanInputs& inputs, const Plan& plan);

// A plan with a run-time rule and with cuts, on its schedules alone. Nothing where only its Program
// tells (simulate_by_rule()).
std::optional<ArrangedOutcome> replay_by_rule(const PlanInputs& inputs,
                                              const PreparedPlan& prepared, const Plan& plan,
                                              const StagePricing& pricing,
                                              const PlanSchedules& schedules,
                                              ReplayBuffers& buffers);

}  // namespace penstock
