// Schedules that are worked out for one plan (automatic ones, run-time rules): candidates like all
// others, but making one costs more than many bounds.
#pragma once

#include <optional>

#include "core/values/evaluation.h"
#include "costmodel/plan_wiring.h"
#include "costmodel/price_stages.h"
#include "search/evaluate.h"
#include "search/incumbents.h"
#include "search/prepared_plan.h"

namespace penstock {

struct ArrangedCandidate {
  Plan plan;         // with cuts
  Duration bound{};  // no arrangement of it is faster
};

struct ArrangedOutcome {
  std::optional<Rejection> why_not;
  Found found;
  bool is_beaten = false;  // it takes longer than `slowest`: nothing else is known
};
Rejection no_arrangement_fits(const Plan& plan);
// `slowest`: a plan that takes longer need not be worked out to the end.
ArrangedOutcome replay_arranged(const PlanInputs& inputs, const Plan& plan,
                                Duration slowest = Duration::max());
// The same of a plan with cuts that was prepared with others, by what its sections cost.
struct PricedSections {
  const PlanWiring& wiring;
  const RankTables& tables;
  bool recomputes;
};
ArrangedOutcome replay_arranged(const PlanInputs& inputs, const PreparedPlan& prepared,
                                const PricedSections& sections, const Plan& plan,
                                Duration slowest = Duration::max());

}  // namespace penstock
