// The one place where a step time, a price and the memory of ranks are put together, whether the
// replay was rolled up or in full. The interval is the step time times the error band, below and
// above. Memory is counts times bytes for micro-batches of one shape; with several shapes the stash
// is the peak of sums in bytes, and batches that are written out shape by shape take all pools from
// the replay. Where the order comes about at run time, memory follows from the order as executed.
#include "search/evaluation.h"

#include <algorithm>
#include <utility>

#include "search/choose_cuts.h"
#include "search/memory.h"
#include "simulator/events/executed_order.h"
#include "simulator/liveness.h"
#include "simulator/merge_liveness.h"
#include "simulator/pool_peaks.h"
#include "simulator/stash_bytes.h"

namespace penstock {

Duration step_time_of(const TimelineSummary& summary, const ExecutorModel& executor) {
  const bool barrier = executor.optimizer != OptimizerGate::kPostValidation;
  return (barrier ? summary.makespan : summary.longest_span) + executor.per_step;
}

double usd_per_step(Duration step_time, const Plan& plan, const PerRank<double>& usd_per_hour) {
  const double hours = static_cast<double>(step_time.count()) * 1e-9 / 3600.0;
  if (usd_per_hour.is_one_for_all()) return hours * usd_per_hour[0] * plan.devices();
  double usd = 0.0;
  for (int rank = 0; rank < plan.listed_ranks(); ++rank) {
    if (usd_per_hour[rank] == 0.0) return 0.0;
    usd += hours * usd_per_hour[rank] * replicas_of_rank(plan, rank) * plan.devices_per_rank();
  }
  return usd;
}

std::vector<Bytes> stash_of(const std::vector<RolledInput>& pipelines, const StagePrices& prices) {
  std::vector<Bytes> all;
  for (const RolledInput& pipeline : pipelines) {
    if (prices.shapes == 1) break;
    const std::vector<Bytes> ranks = peak_stash_bytes(pipeline, prices);
    all.insert(all.end(), ranks.begin(), ranks.end());
  }
  return all;
}

void set_stash(const std::vector<Bytes>& stash, std::vector<MemoryUse>& listed) {
  for (MemoryUse& use : listed) use.stash = {};
  for (std::size_t at = 0; at < stash.size(); ++at) {
    Bytes& most = listed[at % listed.size()].stash;
    most = std::max(most, stash[at]);
  }
}

ListedRanks listed_ranks(const Plan& plan) {
  const bool by_pools = !plan.has_even_batch();
  if (!plan.has_unequal_replicas()) return {1, ShapeRange{}, by_pools};
  std::vector<ShapeRange> shapes;
  shapes.reserve(static_cast<std::size_t>(plan.listed_ranks()));
  for (int kind = 0; kind < plan.kinds(); ++kind) {
    shapes.insert(shapes.end(), static_cast<std::size_t>(plan.pipeline),
                  shapes_of_kind(plan, kind));
  }
  return {plan.kinds(), PerRank<ShapeRange>::of_each(std::move(shapes)), by_pools};
}

Evaluation evaluation_of(const Judged& judged, const StagePrices& prices,
                         const ExecutorModel& executor, const PerRank<Bytes>& capacity,
                         const PerRank<Bytes>& reserve, const ErrorBand& interval,
                         const ListedRanks& listed) {
  Evaluation evaluation;
  evaluation.makespan = judged.summary.makespan;
  evaluation.longest_span = judged.summary.longest_span;
  evaluation.ideal = judged.summary.ideal;
  evaluation.step_time = step_time_of(judged.summary, executor);
  evaluation.step_time_low =
      std::max(Duration{}, evaluation.step_time - scaled(evaluation.step_time, interval.below));
  evaluation.step_time_high = evaluation.step_time + scaled(evaluation.step_time, interval.above);
  auto memory = memory_of_ranks(prices, judged.held, reserve, listed.shapes);
  if (prices.shapes > 1) set_stash(judged.stash, memory);
  for (std::size_t r = 0; r < memory.size(); ++r) {
    evaluation.ranks.push_back({memory[r], capacity[static_cast<int>(r)], judged.times[r]});
  }
  return evaluation;
}

Evaluation evaluation_of(const Program& program, const StagePrices& prices,
                         const Timeline& timeline, const ExecutorModel& executor,
                         const PerRank<Bytes>& capacity, const PerRank<Bytes>& reserve,
                         const ErrorBand& interval, const ListedRanks& listed) {
  if (program.rule != RunTimeRule::kNone) {  // what is held depends on the order that came about
    const ExecutedProgram executed = as_executed(program, timeline);
    return evaluation_of(executed.program, prices, executed.timeline, executor, capacity, reserve,
                         interval, listed);
  }
  const int pipelines = static_cast<int>(program.pipelines.size());
  const auto of_listed =
      static_cast<std::size_t>(listed.kinds) * static_cast<std::size_t>(program.pipelines[0].ranks);
  Evaluation evaluation = evaluation_of(
      Judged{summarize(program, timeline),
             attribute_idle(program, timeline, executor, listed.kinds),
             merged_liveness(liveness(program, pipelines), of_listed),
             prices.shapes > 1 ? peak_stash_bytes(program, prices) : std::vector<Bytes>{}},
      prices, executor, capacity, reserve, interval, listed);
  if (!listed.by_pools) return evaluation;
  const std::vector<PoolPeaks> pools = pool_peaks(program, prices, listed.kinds);
  for (std::size_t r = 0; r < pools.size(); ++r) {
    MemoryUse& use = evaluation.ranks[r].memory;
    use.stash = pools[r].stash;
    use.working_peak = pools[r].working;
    use.communication = pools[r].communication;
  }
  return evaluation;
}

std::optional<Rejection> over_memory(const std::vector<MemoryUse>& ranks, const Plan& plan,
                                     const PerRank<Bytes>& capacity) {
  std::vector<Bytes> totals;
  totals.reserve(ranks.size());
  for (const MemoryUse& use : ranks) totals.push_back(use.total());
  return over_memory(totals, plan, capacity);
}

}  // namespace penstock
