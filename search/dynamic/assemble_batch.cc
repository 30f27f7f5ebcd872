#include "search/dynamic/assemble_batch.h"

#include <algorithm>
#include <utility>

#include "core/check/transfer_streams.h"
#include "core/values/error.h"
#include "search/evaluation.h"
#include "search/memory.h"
#include "simulator/liveness.h"
#include "simulator/pool_peaks.h"
#include "simulator/replay.h"
#include "simulator/simulate.h"

namespace penstock {
namespace {

// Shapes replica by replica, each in the order in which they come; `ids` says which they are in the
// table.
Batch batch_of_choice(const BatchChoice& choice, const std::vector<FormedMicroBatch>& micro_batches,
                      const ShapeTable& shapes, std::vector<int>& ids) {
  Batch batch;
  for (const std::vector<int>& order : choice.replicas) {
    ReplicaBatch& replica = batch.replicas.emplace_back();
    const std::size_t first = ids.size();
    for (const int m : order) {
      const int id = micro_batches[static_cast<std::size_t>(m)].shape;
      auto at = std::find(ids.begin() + static_cast<std::ptrdiff_t>(first), ids.end(), id);
      if (at == ids.end()) {
        at = ids.insert(ids.end(), id);
        batch.shapes.push_back(shapes.at(id).shape);
      }
      const int shape = static_cast<int>(at - ids.begin());
      if (replica.runs.empty() || replica.runs.back().shape != shape) {
        replica.runs.push_back({0, shape});
      }
      ++replica.runs.back().count;
    }
  }
  return batch;
}

StagePricing pricing_of(const ShapeTable& shapes, const std::vector<int>& ids, int stages) {
  StagePricing pricing = shapes.step();
  pricing.prices.stages = stages;
  pricing.prices.shapes = static_cast<int>(ids.size());
  for (int s = 0; s < stages; ++s) {
    for (const int id : ids) {
      const StagePrices& one = shapes.cost_of(id).prices;
      pricing.prices.compute.push_back(one.compute_of(s, 0));
      pricing.prices.transfer.push_back(one.transfer_of(s, 0));
    }
  }
  return pricing;
}

// The devices of one pipeline are those of every replica.
void repeat_devices(const Plan& layout, Plan& plan) {
  if (!layout.is_mixed() || !plan.has_unequal_replicas()) return;
  std::vector<std::string> types;
  for (int kind = 0; kind < plan.kinds(); ++kind) {
    types.insert(types.end(), layout.rank_devices.begin(), layout.rank_devices.end());
  }
  set_rank_devices(plan, std::move(types));
}

// One entry per listed rank.
PerRank<Bytes> of_listed(const PerRank<Bytes>& of_ranks, const Plan& plan) {
  if (of_ranks.is_one_for_all()) return of_ranks;
  std::vector<Bytes> values;
  values.reserve(static_cast<std::size_t>(plan.listed_ranks()));
  for (int r = 0; r < plan.listed_ranks(); ++r) values.push_back(of_ranks[r % plan.pipeline]);
  return PerRank<Bytes>::of_each(std::move(values));
}

}  // namespace

AssembledBatch assemble_batch(const BatchQuestion& question, const BatchChoice& choice,
                              const std::vector<FormedMicroBatch>& micro_batches,
                              const ShapeTable& shapes, const ReplicaReplays& replays) {
  AssembledBatch result;
  std::vector<int> ids;
  result.plan = question.layout;
  result.plan.schedule = choice.schedule.kind->name;
  result.plan.group = choice.schedule.group;
  result.plan.recompute = choice.recompute;
  result.plan.recompute_sections.clear();
  set_batch(result.plan, batch_of_choice(choice, micro_batches, shapes, ids));
  repeat_devices(question.layout, result.plan);
  result.pricing = pricing_of(shapes, ids, result.plan.stages());
  result.schedules.pipelines = rolled_inputs(result.plan);
  result.schedules.schedules.reserve(choice.replicas.size());
  for (std::size_t d = 0; d < choice.replicas.size(); ++d) {
    std::vector<int> order;
    order.reserve(choice.replicas[d].size());
    for (const int m : choice.replicas[d]) {
      order.push_back(micro_batches[static_cast<std::size_t>(m)].shape);
    }
    result.schedules.schedules.push_back(replays.schedule_of(choice.schedule, order));
    result.schedules.pipelines[d].schedule = &result.schedules.schedules.back();
  }
  result.program = program_of(result.schedules, lowering_of(result.plan, result.pricing.ties,
                                                            choice.recomputes, question.executor));
  return result;
}

std::optional<JudgedBatch> judge_batch(const BatchQuestion& question,
                                       const AssembledBatch& assembled, const ShapeTable& shapes) {
  const bool may_deadlock = !straight_replay_is_exact(question.executor);
  if (may_deadlock && deadlock(assembled.program, question.executor)) return std::nullopt;
  JudgedBatch judged;
  judged.step_time =
      step_time_of(simulate_summary(assembled.program, assembled.pricing.prices, question.executor),
                   question.executor);
  const int kinds = assembled.plan.kinds();
  const std::vector<PoolPeaks> pools =
      pool_peaks(assembled.program, assembled.pricing.prices, kinds);
  for (std::size_t r = 0; r < pools.size(); ++r) {
    const int rank = static_cast<int>(r) % assembled.plan.pipeline;
    const Bytes moving = pools[r].stash + pools[r].working + pools[r].communication;
    judged.need = std::max(judged.need, moving.count + shapes.kept_by(rank) + shapes.lacks(rank));
  }
  return judged;
}

EvaluatedPlan evaluate_batch(const BatchQuestion& question, AssembledBatch assembled,
                             const ShapeCosts& costs, bool recomputes) {
  EvaluatedPlan result;
  StagePricing pricing = costs.prices_of(assembled.plan);
  result.plan = std::move(assembled.plan);
  result.prices = std::move(pricing.prices);
  result.ties = std::move(pricing.ties);
  result.boundary_level = std::move(pricing.boundary_level);
  result.recomputes = recomputes;
  result.program = std::move(assembled.program);
  const std::string stuck = why_stuck(streams_of(result.program), result.plan.stages_per_copy());
  if (!stuck.empty()) throw Error(ErrorKind::kInternal, "planned transfers: " + stuck);
  result.timeline = simulate(result.program, result.prices, question.executor);
  const PerRank<Bytes> capacity = of_listed(question.capacity, result.plan);
  result.evaluation = evaluation_of(
      result.program, result.prices, result.timeline, question.executor, capacity,
      of_listed(question.reserve, result.plan), question.interval, listed_ranks(result.plan));
  std::vector<MemoryUse> memory;
  for (const RankEvaluation& rank : result.evaluation.ranks) memory.push_back(rank.memory);
  result.why_not = over_memory(memory, result.plan, capacity);
  return result;
}

}  // namespace penstock
