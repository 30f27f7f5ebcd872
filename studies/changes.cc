#include "studies/changes.h"

#include <cstddef>

#include "core/values/durations.h"
#include "search/evaluation.h"
#include "search/rolled_program.h"
#include "simulator/simulate.h"

namespace penstock {

void free_transfers(PlanFile& file) {
  for (TransferPrice& price : file.prices.transfer) price = {};
  file.executor.per_transfer = Duration{};
}

void free_reductions(PlanFile& file) {
  for (StepPrice& step : file.prices.step) step.reduce_gradient = step.unshard = {};
  for (TiedPrice& price : file.prices.tied_reduce) price.reduce = {};
  file.prices.norm = {};
}

void free_optimizer(PlanFile& file) {
  for (StepPrice& step : file.prices.step) step.optimizer = {};
}

Duration step_with(const PlanFile& file, const StagePrices& prices, const ExecutorModel& executor) {
  return step_time_of(is_rolled_up(file) ? rolled_summary(file, prices, executor)
                                         : simulate_summary(file.program, prices, executor),
                      executor);
}

Duration step_after(const PlanFile& file, void (*change)(PlanFile&)) {
  PlanFile changed = file;
  change(changed);
  return step_with(file, changed.prices, changed.executor);
}

namespace {

// Every stage takes the mean of all stages, kind by kind and shape by shape.
void balance(PlanFile& file) {
  StagePrices& prices = file.prices;
  const auto shapes = static_cast<std::size_t>(prices.shapes);
  for (std::size_t shape = 0; shape < shapes; ++shape) {
    for (const ComputeTime time : kComputeTimes) {
      Duration sum{};
      for (std::size_t i = shape; i < prices.compute.size(); i += shapes) {
        sum += (prices.compute[i].*time).duration;
      }
      for (std::size_t i = shape; i < prices.compute.size(); i += shapes) {
        (prices.compute[i].*time).duration = sum / prices.stages;
      }
    }
  }
}

// Of one pipeline: what its ranks would do if all did the same.
Duration mean_work(const Evaluation& now) {
  Duration sum{};
  for (const RankEvaluation& rank : now.ranks) sum += rank.time.busy;
  const auto ranks = std::ssize(now.ranks);
  return Duration{(sum.count() + ranks - 1) / ranks};
}

}  // namespace

std::vector<WhatIf> gains_of_removals(const PlanFile& file) {
  return {{"transfers took no time", step_after(file, free_transfers)},
          {"reductions, norm and gathers took no time", step_after(file, free_reductions)},
          {"the optimizer took no time", step_after(file, free_optimizer)}};
}

std::vector<WhatIf> gains_of_rearranging(const PlanFile& file, const Evaluation& now) {
  std::vector<WhatIf> gains{
      {"every stage took as long as the mean", step_after(file, balance)},
      {"the busiest rank never waited (a bound)", now.ideal + file.executor.per_step}};
  if (!file.plan.is_mixed() && !file.plan.has_unequal_replicas() && !now.ranks.empty()) {
    gains.push_back(
        {"no rank waited, all with equal work (a bound)", mean_work(now) + file.executor.per_step});
  }
  return gains;
}

std::vector<WhatIf> gains_of_changes(const PlanFile& file, const Evaluation& now) {
  std::vector<WhatIf> gains = gains_of_removals(file);
  const std::vector<WhatIf> more = gains_of_rearranging(file, now);
  gains.insert(gains.end(), more.begin(), more.end());
  return gains;
}

}  // namespace penstock
