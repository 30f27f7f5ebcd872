#include "cli/reports/synthetic_step.h"

#include <algorithm>

#include <fmt/format.h>

namespace penstock {
namespace {

// The rule by which stages lie on ranks; traces name the stages of a rank by it.
StageMap map_of(const Program& program) {
  const Pipeline& pipeline = program.pipelines.front();
  for (const StageMap map : {StageMap::kLoop, StageMap::kV}) {
    bool same = true;
    for (int s = 0; s < pipeline.stages; ++s) {
      const int index = pipeline.first_stage + s;
      const auto stage = static_cast<std::size_t>(index);
      same = same && program.stages[stage].rank.value == rank_of_stage(map, pipeline.ranks, s);
    }
    if (same) return map;
  }
  return pipeline.copies > 1 ? StageMap::kBidirectional : StageMap::kLoop;
}

PlanFile file_of(const Program& program, const StagePrices& prices, const ExecutorModel& executor,
                 const ScheduleResult& result) {
  PlanFile file;
  file.model = "given costs";
  file.cluster.name = file.cluster.device = file.plan.device = "any device";
  file.plan.schedule = result.schedule;
  file.plan.pipeline = result.ranks;
  file.plan.chunks = result.chunks;
  file.plan.stage_map = map_of(program);
  file.plan.global_batch = result.micro_batches;
  file.executor = executor;
  file.prices = prices;
  for (ComputePrice& price : file.prices.compute) {
    price.stash = price.weight_stash = Bytes{1};
  }
  file.program = program;
  file.prediction.makespan = file.prediction.step_time = result.makespan;
  file.prediction.longest_span = result.longest_span;
  file.prediction.ideal = result.ideal;
  return file;
}

}  // namespace

SyntheticStep step_of(const Program& program, const Timeline& timeline, const StagePrices& prices,
                      const ExecutorModel& executor, const ScheduleResult& result) {
  SyntheticStep step;
  step.file = file_of(program, prices, executor, result);
  step.trace = trace_of(step.file, timeline);
  step.trace.what = fmt::format("{}, P {}, V {}, M {}", result.schedule, result.ranks,
                                result.chunks, result.micro_batches);
  step.held_per_micro_batch =
      std::max(1, result.chunks * result.slices / std::max(1, result.copies));
  return step;
}

}  // namespace penstock
