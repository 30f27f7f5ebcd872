#include "search/evaluate.h"

#include <algorithm>

#include "core/error.h"
#include "costmodel/price_stages.h"
#include "search/arrange.h"
#include "search/choose_cuts.h"
#include "search/device_cluster.h"
#include "search/evaluation.h"
#include "search/memory.h"
#include "search/plan_program.h"
#include "search/section_sums.h"
#include "simulator/replay.h"
#include "simulator/schedules/schedules.h"
#include "simulator/simulate.h"

namespace penstock {
namespace {

Rejection reason(std::string text) { return {std::move(text), 1, std::nullopt, std::nullopt, ""}; }

std::vector<SectionSums> sums_of_shapes(const ModelProfile& profile, const Plan& plan) {
  std::vector<SectionSums> sums;
  for (const int samples : micro_batch_shapes(plan)) {
    sums.push_back(sum_sections(profile, plan.device, plan.tensor, samples, plan.sequence_length,
                                plan.recompute));
  }
  return sums;
}

void refuse_nonsense(const PlanInputs& inputs, const DeviceCluster& cluster, const Plan& plan) {
  if (plan.pipeline < 1 || plan.chunks < 1 || plan.data < 1 || plan.tensor < 1 ||
      plan.micro_batch_size < 1 || plan.global_batch < plan.data) {
    throw_bad_input("a plan needs P, V, D, T, b of at least 1 and at least one sample per replica");
  }
  if (plan.stages_per_copy() > static_cast<int>(inputs.profile->sections.size())) {
    throw_bad_input("P * V = " + std::to_string(plan.stages()) + " stages, but the model has " +
                    std::to_string(inputs.profile->sections.size()) +
                    " sections; choose fewer stages");
  }
  if (plan.devices() > cluster.devices) {
    throw_bad_input("P * D * T = " + std::to_string(plan.devices()) +
                    " devices, but the cluster has " + std::to_string(cluster.devices) +
                    " of type " + cluster.device.name);
  }
}

std::optional<Rejection> choose(const PlanInputs& inputs, const DeviceCluster& cluster,
                                const SectionSums& sums, BackwardKind backward, Plan& plan) {
  const auto balanced = balanced_cuts(sums, plan.stages_per_copy(), backward);
  plan.cuts = balanced.value();  // stages() <= sections
  const TiedParameters ties(*inputs.profile, plan.tensor);
  const HeldCounts held(liveness_of(with_stand_in(plan)));
  const StageMemory memory(sums, ties, inputs.profile->training,
                           plan.zero1 ? plan.weight_copies() : 1, held, cluster.reserve,
                           cluster.device.memory);
  Cuts cuts = choose_cuts(sums, memory, plan, backward, *balanced);
  if (!cuts.cuts.empty()) plan.cuts = std::move(cuts.cuts);
  return std::move(cuts.why_not);
}

// Works out everything that follows from the schedules.
void replay(const PlanInputs& inputs, const DeviceCluster& cluster, const PlanSchedules& schedules,
            bool recomputes, double uncertainty, EvaluatedPlan& result) {
  const ExecutorModel& executor = inputs.executor;
  result.program =
      program_of(schedules, lowering_of(result.plan, result.ties, recomputes, executor));
  result.timeline = simulate(result.program, result.prices, executor);
  result.evaluation = evaluation_of(result.program, result.prices, result.timeline, executor,
                                    cluster.device.memory, cluster.reserve, uncertainty);
  result.evaluation.usd_per_step =
      usd_per_step(result.evaluation.step_time, result.plan.devices(), cluster.device.usd_per_hour);
  std::vector<MemoryUse> memory;
  for (const RankEvaluation& rank : result.evaluation.ranks) memory.push_back(rank.memory);
  result.why_not = over_memory(memory, result.plan.chunks, cluster.device.memory);
}

// Arranges within what the rest of the memory leaves; buffers are known only afterwards, so that a
// second try may need to hold less.
void arrange_and_replay(const PlanInputs& inputs, const DeviceCluster& cluster, bool recomputes,
                        double uncertainty, EvaluatedPlan& result) {
  constexpr int kMostTries = 4;
  auto room =
      room_for_activations(result.plan, result.prices, cluster.reserve, cluster.device.memory);
  for (int tries = 0; tries < kMostTries; ++tries) {
    const ArrangedSchedules arranged =
        arrange_schedules(result.plan, result.prices, inputs.executor, room);
    if (!arranged.why_not.empty()) {
      result.why_not = reason(arranged.why_not);
      return;
    }
    replay(inputs, cluster, arranged.schedules, recomputes, uncertainty, result);
    if (!result.why_not) return;
    for (std::size_t r = 0; r < room.size(); ++r) {
      const RankEvaluation& rank = result.evaluation.ranks[r];
      room[r] -= std::max<std::int64_t>(0, (rank.memory.total() - rank.capacity).count);
    }
  }
}

// A plan's placement follows from its schedule.
Plan with_stage_map(Plan plan) {
  const ScheduleKind* kind = find_schedule(plan.schedule);
  if (kind != nullptr) plan.stage_map = kind->map;
  return plan;
}

}  // namespace

EvaluatedPlan evaluate(const PlanInputs& inputs, const Plan& plan) {
  EvaluatedPlan result;
  result.plan = with_stage_map(plan);
  const DeviceCluster cluster = device_cluster(*inputs.cluster, plan.device, inputs.reserve);
  refuse_nonsense(inputs, cluster, result.plan);
  if (auto why = why_no_program(result.plan); !why.empty()) {
    result.why_not = reason(why);
    return result;
  }
  const auto sums = sums_of_shapes(*inputs.profile, result.plan);
  std::vector<const SectionTable*> tables;
  for (const SectionSums& shape : sums) {
    if (!shape.why_not.empty()) {
      result.why_not = reason(shape.why_not);
      return result;
    }
    tables.push_back(&shape.table);
  }
  const ScheduleKind& kind = *find_schedule(plan.schedule);
  const bool recomputes = sums[0].recompute.back() > 0;
  if (kind.recomputes && !recomputes) {
    result.why_not = reason(plan.schedule + " recomputes, but recompute mode '" + plan.recompute +
                            "' has nothing to recompute");
    return result;
  }
  if (kind.rule != RunTimeRule::kNone && !straight_replay_is_exact(inputs.executor)) {
    result.why_not = reason(plan.schedule + ": its order changes while it runs, which executor '" +
                            inputs.executor.name + "' cannot carry out");
    return result;
  }
  std::optional<Rejection> why_not;
  if (plan.cuts.empty()) {
    why_not = choose(inputs, cluster, sums[0], kind.backward, result.plan);
  }

  StagePricing pricing = price_stages(*inputs.profile, cluster.spec, result.plan, tables);
  result.prices = std::move(pricing.prices);
  result.ties = std::move(pricing.ties);
  result.boundary_level = std::move(pricing.boundary_level);
  if (kind.is_automatic()) {
    arrange_and_replay(inputs, cluster, recomputes, pricing.uncertainty, result);
  } else {
    replay(inputs, cluster, schedules_of(result.plan), recomputes, pricing.uncertainty, result);
    if (!result.why_not) result.why_not = why_not;
  }
  result.evaluation.assumptions = std::move(pricing.assumptions);
  return result;
}

PlanFile to_plan_file(const PlanInputs& inputs, const EvaluatedPlan& evaluated) {
  const DeviceCluster cluster =
      device_cluster(*inputs.cluster, evaluated.plan.device, inputs.reserve);
  PlanFile file;
  file.model = inputs.profile->name;
  for (const Section& section : inputs.profile->sections) {
    file.section_names.push_back(section.name);
  }
  file.plan = evaluated.plan;
  file.cluster = plan_cluster(cluster, evaluated.boundary_level);
  file.ties = evaluated.ties;
  file.executor = inputs.executor;
  file.prices = evaluated.prices;
  file.program = evaluated.program;
  file.prediction = evaluated.evaluation;
  return file;
}

Replayed replay_plan_file(const PlanFile& file) {
  Replayed replayed;
  replayed.timeline = simulate(file.program, file.prices, file.executor);
  const auto step = static_cast<double>(file.prediction.step_time.count());
  const auto margin =
      static_cast<double>((file.prediction.step_time_high - file.prediction.step_time).count());
  replayed.evaluation = evaluation_of(file.program, file.prices, replayed.timeline, file.executor,
                                      file.cluster.memory_per_device, file.cluster.reserve,
                                      step > 0 ? margin / step : 0.0);
  replayed.evaluation.usd_per_step =
      usd_per_step(replayed.evaluation.step_time, file.plan.devices(), file.cluster.usd_per_hour);
  replayed.evaluation.assumptions = file.prediction.assumptions;
  return replayed;
}

}  // namespace penstock
