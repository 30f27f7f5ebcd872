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

// What the sections cost on the devices of a plan: [type][shape], types as in PlanDevices.
class PlanSums {
 public:
  PlanSums(const ModelProfile& profile, const PlanDevices& devices, const Plan& plan)
      : type_of_rank_(devices.type_of_rank) {
    const std::vector<int> shapes = micro_batch_shapes(plan);
    sums_.reserve(devices.types.size());
    for (const DeviceCluster& type : devices.types) {
      std::vector<SectionSums>& of_type = sums_.emplace_back();
      of_type.reserve(shapes.size());
      for (const int samples : shapes) {
        of_type.push_back(sum_sections(profile, type.device.name, plan.tensor, samples,
                                       plan.sequence_length, plan.recompute));
      }
    }
  }
  // The first reason why there are no prices; empty when there are.
  [[nodiscard]] std::string why_not() const {
    for (const auto& of_type : sums_) {
      for (const SectionSums& shape : of_type) {
        if (!shape.why_not.empty()) return shape.why_not;
      }
    }
    return "";
  }
  [[nodiscard]] bool recomputes() const {
    return std::any_of(sums_.begin(), sums_.end(),
                       [](const auto& of_type) { return of_type[0].recompute.back() > 0; });
  }
  // Of full-size micro-batches.
  [[nodiscard]] RankSums full_size() const {
    if (sums_.size() == 1) return sums_[0][0];
    std::vector<const SectionSums*> of_rank;
    of_rank.reserve(type_of_rank_.size());
    for (const int type : type_of_rank_) of_rank.push_back(&of_type(type)[0]);
    return RankSums(std::move(of_rank));
  }
  [[nodiscard]] RankTables tables() const {
    if (sums_.size() == 1) return tables_of(sums_[0]);
    std::vector<std::vector<const SectionTable*>> of_rank;
    of_rank.reserve(type_of_rank_.size());
    for (const int type : type_of_rank_) of_rank.push_back(tables_of(of_type(type)));
    return RankTables::of_each(std::move(of_rank));
  }

 private:
  [[nodiscard]] const std::vector<SectionSums>& of_type(int type) const {
    return sums_[static_cast<std::size_t>(type)];
  }
  static std::vector<const SectionTable*> tables_of(const std::vector<SectionSums>& shapes) {
    std::vector<const SectionTable*> tables;
    tables.reserve(shapes.size());
    for (const SectionSums& shape : shapes) tables.push_back(&shape.table);
    return tables;
  }

  const std::vector<int>& type_of_rank_;
  std::vector<std::vector<SectionSums>> sums_;
};

void refuse_nonsense(const PlanInputs& inputs, const Plan& plan) {
  if (plan.pipeline < 1 || plan.chunks < 1 || plan.data < 1 || plan.tensor < 1 ||
      plan.micro_batch_size < 1 || plan.global_batch < plan.data) {
    throw_bad_input("a plan needs P, V, D, T, b of at least 1 and at least one sample per replica");
  }
  if (plan.stages_per_copy() > static_cast<int>(inputs.profile->sections.size())) {
    throw_bad_input("P * V = " + std::to_string(plan.stages()) + " stages, but the model has " +
                    std::to_string(inputs.profile->sections.size()) +
                    " sections; choose fewer stages");
  }
  if (plan.is_mixed() && plan.rank_devices.size() != static_cast<std::size_t>(plan.pipeline)) {
    throw_bad_input("a mixed plan needs a device type for each of its " +
                    std::to_string(plan.pipeline) + " pipeline ranks, not " +
                    std::to_string(plan.rank_devices.size()));
  }
}

PlanDevices enough_devices(const PlanInputs& inputs, const Plan& plan) {
  PlanDevices devices = devices_of(*inputs.cluster, plan, inputs.reserve);
  if (const auto why = too_few_devices(devices, plan); !why.empty()) throw_bad_input(why);
  return devices;
}

PerRank<double> usd_per_hour(const PlanDevices& devices) {
  if (devices.types.size() == 1) return devices.types[0].device.usd_per_hour;
  std::vector<double> prices;
  prices.reserve(devices.type_of_rank.size());
  for (std::size_t r = 0; r < devices.type_of_rank.size(); ++r) {
    prices.push_back(devices.of_rank(static_cast<int>(r)).device.usd_per_hour);
  }
  return PerRank<double>::of_each(std::move(prices));
}

std::optional<Rejection> choose(const PlanInputs& inputs, const PlanDevices& devices,
                                const RankSums& sums, BackwardKind backward, Plan& plan) {
  const auto balanced = balanced_cuts(sums, plan, backward);
  plan.cuts = balanced.value();  // stages() <= sections
  const TiedParameters ties(*inputs.profile, plan.tensor);
  const HeldCounts held(liveness_of(with_stand_in(plan)));
  const StageMemory memory(sums, ties, inputs.profile->training,
                           plan.zero1 ? plan.weight_copies() : 1, held, devices.reserve(),
                           devices.memory());
  Cuts cuts = choose_cuts(sums, memory, plan, backward, *balanced);
  if (!cuts.cuts.empty()) plan.cuts = std::move(cuts.cuts);
  return std::move(cuts.why_not);
}

// Works out everything that follows from the schedules.
void replay(const PlanInputs& inputs, const PlanDevices& devices, const PlanSchedules& schedules,
            bool recomputes, double uncertainty, EvaluatedPlan& result) {
  const ExecutorModel& executor = inputs.executor;
  result.program =
      program_of(schedules, lowering_of(result.plan, result.ties, recomputes, executor));
  result.timeline = simulate(result.program, result.prices, executor);
  result.evaluation = evaluation_of(result.program, result.prices, result.timeline, executor,
                                    devices.memory(), devices.reserve(), uncertainty);
  result.evaluation.usd_per_step =
      usd_per_step(result.evaluation.step_time, result.plan, usd_per_hour(devices));
  std::vector<MemoryUse> memory;
  for (const RankEvaluation& rank : result.evaluation.ranks) memory.push_back(rank.memory);
  result.why_not = over_memory(memory, result.plan, devices.memory());
}

// Arranges within what the rest of the memory leaves; buffers are known only afterwards, so that a
// second try may need to hold less.
void arrange_and_replay(const PlanInputs& inputs, const PlanDevices& devices, bool recomputes,
                        double uncertainty, EvaluatedPlan& result) {
  constexpr int kMostTries = 4;
  auto room = room_for_activations(result.plan, result.prices, devices.reserve(), devices.memory());
  for (int tries = 0; tries < kMostTries; ++tries) {
    const ArrangedSchedules arranged =
        arrange_schedules(result.plan, result.prices, inputs.executor, room);
    if (!arranged.why_not.empty()) {
      result.why_not = reason(arranged.why_not);
      return;
    }
    replay(inputs, devices, arranged.schedules, recomputes, uncertainty, result);
    if (!result.why_not) return;
    for (std::size_t r = 0; r < room.size(); ++r) {
      const RankEvaluation& rank = result.evaluation.ranks[r];
      room[r] -= std::max<std::int64_t>(0, (rank.memory.total() - rank.capacity).count);
    }
  }
}

// A plan's stage map follows from its schedule; where all ranks are on one type it is not mixed.
Plan as_evaluated(Plan plan) {
  if (plan.rank_devices.size() == static_cast<std::size_t>(plan.pipeline)) {
    set_rank_devices(plan, plan.rank_devices);
  }
  const ScheduleKind* kind = find_schedule(plan.schedule);
  if (kind != nullptr) plan.stage_map = kind->map;
  return plan;
}

}  // namespace

EvaluatedPlan evaluate(const PlanInputs& inputs, const Plan& plan) {
  EvaluatedPlan result;
  result.plan = as_evaluated(plan);
  refuse_nonsense(inputs, result.plan);
  const PlanDevices devices = enough_devices(inputs, result.plan);
  if (auto why = why_no_program(result.plan); !why.empty()) {
    result.why_not = reason(why);
    return result;
  }
  const PlanSums sums(*inputs.profile, devices, result.plan);
  if (auto why = sums.why_not(); !why.empty()) {
    result.why_not = reason(std::move(why));
    return result;
  }
  const ScheduleKind& kind = *find_schedule(plan.schedule);
  const bool recomputes = sums.recomputes();
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
    why_not = choose(inputs, devices, sums.full_size(), kind.backward, result.plan);
  }

  StagePricing pricing = price_stages(*inputs.profile, *inputs.cluster, result.plan, sums.tables());
  result.prices = std::move(pricing.prices);
  result.ties = std::move(pricing.ties);
  result.boundary_level = std::move(pricing.boundary_level);
  if (kind.is_automatic()) {
    arrange_and_replay(inputs, devices, recomputes, pricing.uncertainty, result);
  } else {
    replay(inputs, devices, schedules_of(result.plan), recomputes, pricing.uncertainty, result);
    if (!result.why_not) result.why_not = why_not;
  }
  result.evaluation.assumptions = std::move(pricing.assumptions);
  return result;
}

PlanFile to_plan_file(const PlanInputs& inputs, const EvaluatedPlan& evaluated) {
  const PlanDevices devices = devices_of(*inputs.cluster, evaluated.plan, inputs.reserve);
  PlanFile file;
  file.model = inputs.profile->name;
  for (const Section& section : inputs.profile->sections) {
    file.section_names.push_back(section.name);
  }
  file.plan = evaluated.plan;
  file.cluster = plan_cluster(devices, evaluated.boundary_level);
  file.ties = evaluated.ties;
  file.executor = inputs.executor;
  file.prices = evaluated.prices;
  file.program = evaluated.program;
  file.prediction = evaluated.evaluation;
  return file;
}

namespace {

template <class Value>
PerRank<Value> of_ranks(const PlanFile& file, Value PlanDevice::*member) {
  if (!file.plan.is_mixed()) return device_of_rank(file, 0).*member;
  std::vector<Value> values;
  values.reserve(static_cast<std::size_t>(file.plan.pipeline));
  for (int r = 0; r < file.plan.pipeline; ++r) {
    values.push_back(device_of_rank(file, r).*member);
  }
  return PerRank<Value>::of_each(std::move(values));
}

}  // namespace

Replayed replay_plan_file(const PlanFile& file) {
  Replayed replayed;
  replayed.timeline = simulate(file.program, file.prices, file.executor);
  const auto step = static_cast<double>(file.prediction.step_time.count());
  const auto margin =
      static_cast<double>((file.prediction.step_time_high - file.prediction.step_time).count());
  replayed.evaluation =
      evaluation_of(file.program, file.prices, replayed.timeline, file.executor,
                    of_ranks(file, &PlanDevice::memory), of_ranks(file, &PlanDevice::reserve),
                    step > 0 ? margin / step : 0.0);
  replayed.evaluation.usd_per_step = usd_per_step(replayed.evaluation.step_time, file.plan,
                                                  of_ranks(file, &PlanDevice::usd_per_hour));
  replayed.evaluation.assumptions = file.prediction.assumptions;
  return replayed;
}

}  // namespace penstock
