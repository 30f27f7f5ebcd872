// What training on a number of tokens takes with a plan: steps, hours, GPU-hours, dollars, and what
// failures and the checkpoints against them add. docs/cost_model.md derives the formulas.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/values/evaluation.h"
#include "core/values/json.h"
#include "core/values/plan.h"
#include "report/screen.h"

namespace penstock {

// GPUs fail independently of each other and of their age; one failure stops the whole job.
struct FailureModel {
  double gpu_mtbf_hours = 0.0;    // of one GPU with its share of node and network; positive
  double checkpoint_hours = 0.0;  // while training stands
  double restart_hours = 0.0;     // from the failure to the first step after the last checkpoint
  bool checkpoint_is_assumed = false, restart_is_assumed = false;
  bool operator==(const FailureModel&) const = default;
};

struct TrainingQuestion {
  std::int64_t tokens = 0;
  std::optional<FailureModel> failures;  // without: none happen, and no checkpoint is taken
};

// Wall time, and what it costs.
struct TrainingTotals {
  double hours = 0.0, gpu_hours = 0.0;
  double usd = 0.0;  // 0 when the GPUs have no price
};

struct FailureEffect {
  FailureModel model;
  double job_mtbf_hours = 0.0;  // of all GPUs together
  std::int64_t steps_between_checkpoints = 1;
  double hours_between_checkpoints = 0.0;           // of those steps
  double failures = 0.0;                            // expected in the whole training
  double checkpoint_share = 0.0, lost_share = 0.0;  // of the time; lost: redone work and restarts
};

struct TrainingCost {
  std::int64_t tokens = 0, tokens_per_step = 0;
  std::int64_t steps = 0;  // the last one may be short
  int gpus = 0;
  TrainingTotals without_failures;
  TrainingTotals expected, low, high;  // low and high: at the ends of the step time's interval
  std::optional<FailureEffect> failures;
  std::string why_never;  // failures leave no progress: the reason, and the totals are 0
};

// Nothing when nothing is asked. The plan must have a sequence length.
std::optional<TrainingCost> training_cost(const std::optional<TrainingQuestion>& question,
                                          const Plan& plan, const Evaluation& evaluation);
// Whether what was asked comes to an end.
bool ends(const std::optional<TrainingCost>& cost);

// The work between two checkpoints that makes the expected time least, by Daly's estimate (equation
// 37 of his paper); hours in, hours out.
double best_checkpoint_interval(double checkpoint_hours, double job_mtbf_hours);

// Expected time until `hours` have passed without a failure, when each failure starts them anew
// after a restart, during which failures come, too.
double expected_hours(double hours, double restart_hours, double job_mtbf_hours);

// "103.5 days" or "never"; "$736,692", or "-" without a price.
std::string time_text(const TrainingCost& cost);
std::string price_text(const TrainingCost& cost);

// "300B", "1.5T"; with all digits where letters would round.
std::string tokens_in_short(std::int64_t tokens);

// "Training on 1,000,000,000,000 tokens takes 50.5 days (47.9 days to 53.0 days) and costs
// $317,527."
std::string training_sentence(const TrainingCost& cost);
// A section behind an empty line, or nothing; the same for programs.
std::string training_text(const std::optional<TrainingCost>& cost, Screen screen);
Json to_json(const TrainingCost& cost);

}  // namespace penstock
