#include "simulator/schedules/stage_costs.h"

#include <algorithm>

#include "core/values/durations.h"

namespace penstock {

StageCosts stage_costs(const StagePrices& prices, const std::vector<int>& rank_of_stage,
                       const ExecutorModel& executor, bool recomputes) {
  StageCosts costs;
  const bool ends_at_barrier = executor.optimizer == OptimizerGate::kGlobalBarrier;
  costs.shortest = ends_at_barrier ? Shortest::kMakespan : Shortest::kSpan;
  const auto stages = static_cast<std::size_t>(prices.stages);
  for (auto* times : {&costs.forward, &costs.input_gradient, &costs.weight_gradient,
                      &costs.activation, &costs.gradient}) {
    times->reserve(stages);
  }
  for (auto* memory :
       {&costs.taken_by_forward, &costs.freed_by_input_gradient, &costs.freed_by_weight_gradient}) {
    memory->reserve(stages);
  }
  for (int s = 0; s < prices.stages; ++s) {
    const ComputePrice& price = prices.compute_of(s, 0);
    const auto duration = [&](ActionKind kind, int stage) {
      return duration_of(prices, executor, kind, {stage});
    };
    const Duration again = recomputes ? duration(ActionKind::kRecompute, s) : Duration{};
    costs.forward.push_back(duration(ActionKind::kForward, s));
    costs.input_gradient.push_back(duration(ActionKind::kInputGradient, s) + again);
    costs.weight_gradient.push_back(duration(ActionKind::kWeightGradient, s));

    const std::int64_t taken = price.stash.count;
    const std::int64_t freed_by_weight = std::min(price.weight_stash.count, taken);
    costs.taken_by_forward.push_back(taken);
    costs.freed_by_input_gradient.push_back(taken - freed_by_weight);
    costs.freed_by_weight_gradient.push_back(freed_by_weight);

    const auto at = static_cast<std::size_t>(s);
    if (s + 1 == prices.stages) continue;
    const bool stays = rank_of_stage[at] == rank_of_stage[at + 1];
    const auto time = [&](ActionKind send, int stage) {
      return stays ? Duration{} : duration(send, stage);
    };
    costs.activation.push_back(time(ActionKind::kSendActivation, s));
    costs.gradient.push_back(time(ActionKind::kSendGradient, s + 1));
  }
  return costs;
}

}  // namespace penstock
