#include "search/evaluation.h"

#include "search/choose_cuts.h"
#include "search/memory.h"
#include "simulator/events/executed_order.h"
#include "simulator/liveness.h"

namespace penstock {

Duration step_time_of(const TimelineSummary& summary, const ExecutorModel& executor) {
  const bool barrier = executor.optimizer == OptimizerGate::kGlobalBarrier;
  return (barrier ? summary.makespan : summary.longest_span) + executor.per_step;
}

double usd_per_step(Duration step_time, const Plan& plan, const PerRank<double>& usd_per_hour) {
  const double hours = static_cast<double>(step_time.count()) * 1e-9 / 3600.0;
  if (usd_per_hour.is_one_for_all()) return hours * usd_per_hour[0] * plan.devices();
  double usd = 0.0;
  for (int rank = 0; rank < plan.pipeline; ++rank) {
    if (usd_per_hour[rank] == 0.0) return 0.0;
    usd += hours * usd_per_hour[rank] * plan.data * plan.tensor;
  }
  return usd;
}

Evaluation evaluation_of(const Judged& judged, const StagePrices& prices,
                         const ExecutorModel& executor, const PerRank<Bytes>& capacity,
                         const PerRank<Bytes>& reserve, const ErrorBand& interval) {
  Evaluation evaluation;
  evaluation.makespan = judged.summary.makespan;
  evaluation.longest_span = judged.summary.longest_span;
  evaluation.ideal = judged.summary.ideal;
  evaluation.step_time = step_time_of(judged.summary, executor);
  evaluation.step_time_low =
      std::max(Duration{}, evaluation.step_time - scaled(evaluation.step_time, interval.below));
  evaluation.step_time_high = evaluation.step_time + scaled(evaluation.step_time, interval.above);
  const auto memory = memory_of_ranks(prices, judged.held, reserve);
  for (std::size_t r = 0; r < memory.size(); ++r) {
    evaluation.ranks.push_back({memory[r], capacity[static_cast<int>(r)], judged.times[r]});
  }
  return evaluation;
}

Evaluation evaluation_of(const Program& program, const StagePrices& prices,
                         const Timeline& timeline, const ExecutorModel& executor,
                         const PerRank<Bytes>& capacity, const PerRank<Bytes>& reserve,
                         const ErrorBand& interval) {
  if (program.rule != RunTimeRule::kNone) {  // what is held depends on the order that came about
    const ExecutedProgram executed = as_executed(program, timeline);
    return evaluation_of(executed.program, prices, executed.timeline, executor, capacity, reserve,
                         interval);
  }
  return evaluation_of(Judged{summarize(program, timeline),
                              attribute_idle(program, timeline, executor), liveness(program)},
                       prices, executor, capacity, reserve, interval);
}

std::optional<Rejection> over_memory(const std::vector<MemoryUse>& ranks, const Plan& plan,
                                     const PerRank<Bytes>& capacity) {
  std::vector<Bytes> totals;
  totals.reserve(ranks.size());
  for (const MemoryUse& use : ranks) totals.push_back(use.total());
  return over_memory(totals, plan, capacity);
}

}  // namespace penstock
