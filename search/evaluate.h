// One Plan, fully worked out: prices, Program, timeline, memory, idle time by cause.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/values/cluster.h"
#include "core/values/evaluation.h"
#include "core/values/executor_model.h"
#include "core/values/plan_file.h"
#include "core/values/profile.h"
#include "core/values/program.h"
#include "core/values/stage_prices.h"
#include "core/values/timeline.h"

namespace penstock {

// What a question rests on. Values: the caller keeps profile and cluster alive.
struct PlanInputs {
  const ModelProfile* profile = nullptr;
  const ClusterSpec* cluster = nullptr;
  ExecutorModel executor;
  std::optional<Bytes> reserve;  // instead of the device type's own
};

// Either a reason, or everything about the plan.
struct EvaluatedPlan {
  std::optional<Rejection> why_not;  // no measurement, schedule constraint, over memory
  // Set unless why_not says that it could not be priced; a plan over memory is fully worked out.
  Plan plan;
  StagePrices prices;
  std::vector<PlanTie> ties;
  std::vector<int> boundary_level;
  bool recomputes = false;  // its backwards get a recompute before them
  // All actions and when they run. evaluate() leaves them empty where the rolled-up schedules say
  // everything else; evaluate_in_full() never does.
  Program program;
  Timeline timeline;
  Evaluation evaluation;
};

// `plan.cuts` may be empty: then the best cuts are chosen (as the search does). The work does not
// grow with the micro-batches once there is a steady state.
EvaluatedPlan evaluate(const PlanInputs& inputs, const Plan& plan);
// With Program and Timeline.
EvaluatedPlan evaluate_in_full(const PlanInputs& inputs, const Plan& plan);

// Only what its stages cost, by the cuts that it has: for a Program that is there already.
struct PricedPlan {
  std::optional<Rejection> why_not;  // no measurement, schedule constraint
  StagePrices prices;
};
PricedPlan price(const PlanInputs& inputs, const Plan& plan);

// The self-contained file of an evaluated plan.
PlanFile to_plan_file(const PlanInputs& inputs, const EvaluatedPlan& evaluated);
// The same for write_plan_rolled_up(): without its Program where that is the schedule's.
PlanFile to_rolled_up_plan_file(const PlanInputs& inputs, const EvaluatedPlan& evaluated);

// Replays a plan file by what it holds (no profile, no cluster needed): Timeline and a fresh
// Evaluation. Of a file whose Program is rolled up the Timeline is empty.
struct Replayed {
  Timeline timeline;
  Evaluation evaluation;
};
Replayed replay_plan_file(const PlanFile& file);

}  // namespace penstock
