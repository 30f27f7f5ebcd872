// Works out the schedules that are arranged from prices: automatic ones and run-time rules.
//
// One schedule for each kind of replica (replicas may have different numbers of micro-batches),
// from the time of every action and the bytes that each rank has left for activations. Invariant:
// what is returned holds no more than that limit on any rank, and is the same for the same input;
// the caller replays it like any other schedule.
#include "search/arrange.h"

#include <algorithm>
#include <utility>

#include "core/values/durations.h"
#include "simulator/schedules/shorten_lists.h"
#include "simulator/schedules/split_lists.h"

namespace penstock {
namespace {

constexpr int kBuffers = 4;  // boundaries per stage: to send and to receive, both ways

StageCosts costs_of(const Plan& plan, const StagePrices& prices, const ExecutorModel& executor,
                    const std::vector<std::int64_t>& limit) {
  std::vector<int> ranks;
  ranks.reserve(static_cast<std::size_t>(plan.stages()));
  for (int s = 0; s < plan.stages(); ++s) ranks.push_back(plan.rank_of(s));
  StageCosts costs = stage_costs(prices, ranks, executor, takes_recompute_time(prices));
  costs.limit = limit;
  // Where activations take nothing, as many as there are micro-batches may be held.
  for (std::size_t s = 0; s < costs.taken_by_forward.size(); ++s) {
    if (costs.taken_by_forward[s] > 0) continue;
    costs.taken_by_forward[s] = costs.freed_by_weight_gradient[s] = 1;
    costs.freed_by_input_gradient[s] = 0;
  }
  return costs;
}

}  // namespace

ArrangedSchedules arrange_schedules(const Plan& plan, const StagePrices& prices,
                                    const ExecutorModel& executor,
                                    const std::vector<std::int64_t>& limit, int slower_transfers,
                                    Duration to_beat) {
  const ScheduleKind& kind = *find_schedule(plan.schedule);
  StageCosts costs = costs_of(plan, prices, executor, limit);
  for (Duration& time : costs.activation) time *= slower_transfers;
  for (Duration& time : costs.gradient) time *= slower_transfers;
  costs.to_beat = to_beat;
  ArrangedSchedules result;
  result.schedules.pipelines = rolled_inputs(plan);
  result.schedules.schedules.reserve(result.schedules.pipelines.size());
  for (RolledInput& pipeline : result.schedules.pipelines) {
    ScheduleShape shape;
    shape.ranks = plan.pipeline;
    shape.chunks = plan.chunks;
    std::int64_t count = 0;
    for (const MicroBatchRun& run : pipeline.micro_batches) count += run.count;
    shape.micro_batches = static_cast<int>(count);
    ArrangedSchedule arranged = kind.arrange(shape, costs);
    result.is_beaten = arranged.is_beaten;
    result.why_not = std::move(arranged.why_not);
    if (result.is_beaten || !result.why_not.empty()) return result;
    result.schedules.schedules.push_back(std::move(arranged.schedule));
    pipeline.schedule = &result.schedules.schedules.back();
  }
  return result;
}

ArrangedSchedules shortened(const ArrangedSchedules& arranged, const Plan& plan,
                            const StagePrices& prices, const ExecutorModel& executor,
                            const std::vector<std::int64_t>& limit) {
  const StageCosts costs = costs_of(plan, prices, executor, limit);
  ArrangedSchedules result;
  result.schedules.pipelines = arranged.schedules.pipelines;
  result.schedules.schedules.reserve(result.schedules.pipelines.size());
  for (RolledInput& pipeline : result.schedules.pipelines) {
    const Schedule& schedule = *pipeline.schedule;
    const SplitLists lists = shorten_lists(split_lists(schedule), costs);
    result.schedules.schedules.push_back(schedule_of_lists(
        schedule.name, schedule.micro_batches, schedule.rank_of_stage, compute_actions(lists)));
    pipeline.schedule = &result.schedules.schedules.back();
  }
  return result;
}

std::vector<std::int64_t> room_for_activations(const Plan& plan, const StagePrices& prices,
                                               const PerRank<Bytes>& reserve,
                                               const PerRank<Bytes>& capacity) {
  std::vector<std::int64_t> room;
  room.reserve(static_cast<std::size_t>(plan.pipeline));
  for (int r = 0; r < plan.pipeline; ++r) room.push_back((capacity[r] - reserve[r]).count);
  std::vector<std::int64_t> working(room.size(), 0);
  for (int s = 0; s < plan.stages(); ++s) {
    const auto rank = static_cast<std::size_t>(plan.rank_of(s));
    const StepPrice& step = prices.step[static_cast<std::size_t>(s)];
    const ComputePrice& price = prices.compute_of(s, 0);
    room[rank] -= (step.parameters + step.gradients + step.optimizer_state).count;
    if (plan.pipeline > 1) room[rank] -= kBuffers * price.boundary.count;
    working[rank] = std::max(working[rank], price.working_peak.count);
  }
  for (std::size_t r = 0; r < room.size(); ++r) {
    room[r] = std::max<std::int64_t>(0, room[r] - working[r]);
  }
  return room;
}

std::string_view stand_in_of(const ScheduleKind& kind) {
  if (kind.rule != RunTimeRule::kNone) return "1f1b";
  if (!kind.is_automatic()) return kind.name;
  return kind.map == StageMap::kV ? "zb-v" : "zb-h1";
}

Plan with_stand_in(Plan plan) {
  plan.schedule = stand_in_of(*find_schedule(plan.schedule));
  return plan;
}

}  // namespace penstock
