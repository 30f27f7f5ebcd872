#include "simulator/schedules/stage_costs.h"

#include <algorithm>

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
    const Duration again = recomputes ? price.recompute.duration + executor.per_action : Duration{};
    costs.forward.push_back(price.forward.duration + executor.per_action);
    costs.input_gradient.push_back(price.input_gradient.duration + executor.per_action + again);
    costs.weight_gradient.push_back(price.weight_gradient.duration + executor.per_action);

    const std::int64_t taken = price.stash.count;
    const std::int64_t freed_by_weight = std::min(price.weight_stash.count, taken);
    costs.taken_by_forward.push_back(taken);
    costs.freed_by_input_gradient.push_back(taken - freed_by_weight);
    costs.freed_by_weight_gradient.push_back(freed_by_weight);

    const auto at = static_cast<std::size_t>(s);
    if (s + 1 == prices.stages) continue;
    const bool stays = rank_of_stage[at] == rank_of_stage[at + 1];
    const TransferPrice& transfer = prices.transfer_of(s, 0);
    const auto time = [&](const Price& way) {
      return stays ? Duration{} : way.duration + executor.per_transfer;
    };
    costs.activation.push_back(time(transfer.activation));
    costs.gradient.push_back(time(transfer.gradient));
  }
  return costs;
}

}  // namespace penstock
