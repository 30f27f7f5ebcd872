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

double usd_per_step(Duration step_time, int devices, double usd_per_hour) {
  return static_cast<double>(step_time.count()) * 1e-9 / 3600.0 * usd_per_hour * devices;
}

Evaluation evaluation_of(const Program& program, const StagePrices& prices,
                         const Timeline& timeline, const ExecutorModel& executor, Bytes capacity,
                         Bytes reserve, double uncertainty) {
  if (program.rule != RunTimeRule::kNone) {  // what is held depends on the order that came about
    const ExecutedProgram executed = as_executed(program, timeline);
    return evaluation_of(executed.program, prices, executed.timeline, executor, capacity, reserve,
                         uncertainty);
  }
  const TimelineSummary summary = summarize(program, timeline);
  Evaluation evaluation;
  evaluation.makespan = summary.makespan;
  evaluation.longest_span = summary.longest_span;
  evaluation.ideal = summary.ideal;
  evaluation.step_time = step_time_of(summary, executor);
  const Duration margin = scaled(evaluation.step_time, uncertainty);
  evaluation.step_time_low = std::max(Duration{}, evaluation.step_time - margin);
  evaluation.step_time_high = evaluation.step_time + margin;
  const auto memory = memory_of_ranks(prices, liveness(program), reserve);
  const auto times = attribute_idle(program, timeline, executor);
  for (std::size_t r = 0; r < memory.size(); ++r) {
    evaluation.ranks.push_back({memory[r], capacity, times[r]});
  }
  return evaluation;
}

std::optional<Rejection> over_memory(const std::vector<MemoryUse>& ranks, int chunks,
                                     Bytes capacity) {
  std::optional<Rejection> worst;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const Bytes over = ranks[r].total() - capacity;
    if (over.count <= 0 || (worst && over <= *worst->most_over)) continue;
    const std::string who =
        role(chunks == 1 ? "stage" : "rank", static_cast<int>(r), static_cast<int>(ranks.size()));
    worst = Rejection{who + " over memory", 1, over, over, ""};
  }
  return worst;
}

}  // namespace penstock
