#include "search/check_rolled_up.h"

#include <algorithm>

#include "core/values/fixed_costs.h"
#include "search/evaluate.h"
#include "search/rolled_program.h"

namespace penstock {
namespace {

// What the checker compares of a rank: its memory, its busy time, and that its idle times add up.
bool is_as_replayed(const RankEvaluation& predicted, const RankEvaluation& replayed,
                    Duration makespan) {
  const RankTime& time = predicted.time;
  const Duration all = time.busy + time.warm_up + time.drain + time.imbalance + time.order +
                       time.transfer + time.barrier;
  return predicted.memory == replayed.memory && predicted.capacity == replayed.capacity &&
         replayed.memory.total() <= replayed.capacity && time.busy == replayed.time.busy &&
         all == makespan;
}

bool is_as_replayed(const Evaluation& predicted, const Evaluation& replayed) {
  const auto ranks_agree = [&](const RankEvaluation& a, const RankEvaluation& b) {
    return is_as_replayed(a, b, replayed.makespan);
  };
  return predicted.makespan == replayed.makespan &&
         predicted.longest_span == replayed.longest_span && predicted.ideal == replayed.ideal &&
         predicted.step_time == replayed.step_time &&
         std::equal(predicted.ranks.begin(), predicted.ranks.end(), replayed.ranks.begin(),
                    replayed.ranks.end(), ranks_agree);
}

// The checker says of wild prices that they add up to too much; a replay refuses them.
bool may_exceed_64_bits(const PlanFile& file) {
  constexpr double kMost = 5e17;  // far below 2^63, since a replay is as careful
  Duration longest{};
  for (const FixedCost& one : kFixedCosts) longest += file.executor.*one.cost;
  const auto add = [&](const auto& price) { longest = std::max(longest, price.duration); };
  for (const ComputePrice& price : file.prices.compute) {
    add(price.forward);
    add(price.input_gradient);
    add(price.weight_gradient);
    add(price.fused_backward);
    add(price.recompute);
  }
  for (const TransferPrice& price : file.prices.transfer) {
    add(price.activation);
    add(price.gradient);
  }
  for (const StepPrice& price : file.prices.step) {
    add(price.reduce_gradient);
    add(price.optimizer);
    add(price.unshard);
  }
  for (const TiedPrice& price : file.prices.tied_reduce) add(price.reduce);
  add(file.prices.norm);
  return static_cast<double>(longest.count()) * static_cast<double>(rolled_actions(file)) > kMost;
}

}  // namespace

std::optional<CheckReport> check_rolled_up(const PlanFile& file) {
  if (may_exceed_64_bits(file)) return {};
  PlanFile few = with_few_micro_batches(file);
  few.prediction = replay_plan_file(few).evaluation;
  if (!check(few).findings.empty()) return {};
  const Evaluation replayed = replay_plan_file(file).evaluation;
  if (!is_as_replayed(file.prediction, replayed)) return {};
  CheckReport report;
  report.replayed = replayed.step_time;
  for (const RankEvaluation& rank : replayed.ranks) report.memory.push_back(rank.memory.total());
  return report;
}

}  // namespace penstock
