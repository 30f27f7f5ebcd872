// Numbers that make no sense are refused; then devices, schedule and the sections' tables are asked
// in turn, and the first reason ends it. Defaults that follow from the schedule (map of stages, own
// placement) are filled in here, so that everything behind sees a complete plan.
#include "search/prepared_plan.h"

#include <algorithm>

#include "core/values/error.h"
#include "core/values/expert_grid.h"
#include "core/values/recompute_sections.h"
#include "core/values/sharding.h"
#include "costmodel/plan_sections.h"
#include "search/host_room.h"
#include "search/plan_program.h"
#include "simulator/replay.h"

namespace penstock {
namespace {

Rejection reason(std::string text) { return {std::move(text), 1, std::nullopt, std::nullopt, ""}; }

std::vector<const SectionTable*> tables_of(const std::vector<SectionSums>& shapes) {
  std::vector<const SectionTable*> tables;
  tables.reserve(shapes.size());
  for (const SectionSums& shape : shapes) tables.push_back(&shape.table);
  return tables;
}

std::size_t largest_shape(const std::vector<MicroBatchShape>& shapes) {
  const auto tokens = [](const MicroBatchShape& shape) {
    return shape.samples * std::max<std::int64_t>(shape.tokens, 1);
  };
  const auto largest = std::max_element(
      shapes.begin(), shapes.end(),
      [&](const MicroBatchShape& a, const MicroBatchShape& b) { return tokens(a) < tokens(b); });
  return static_cast<std::size_t>(largest - shapes.begin());
}

void refuse_nonsense(const PlanInputs& inputs, const Plan& plan) {
  if (plan.pipeline < 1 || plan.chunks < 1 || plan.data < 1 || plan.tensor < 1 ||
      plan.context < 1 || plan.expert < 1 || plan.expert_tensor < 0 || plan.shard_group < 0 ||
      plan.micro_batch_size < 1 || plan.global_batch < plan.data) {
    throw_bad_input(
        "a plan needs P, V, D, T, C, EP, b of at least 1 and at least one sample per replica");
  }
  if (plan.stages_per_copy() > static_cast<int>(inputs.profile->sections.size())) {
    throw_bad_input("P * V = " + std::to_string(plan.stages()) + " stages, but the model has " +
                    std::to_string(inputs.profile->sections.size()) +
                    " sections; choose fewer stages");
  }
  const auto ranks = static_cast<std::size_t>(plan.listed_ranks());
  if (plan.is_mixed() && plan.rank_devices.size() != ranks) {
    throw_bad_input("a mixed plan needs a device type for each of its " + std::to_string(ranks) +
                    " pipeline ranks, not " + std::to_string(plan.rank_devices.size()));
  }
  if (recompute_is_divided(plan) &&
      plan.recompute_sections.size() != static_cast<std::size_t>(plan.stages_per_copy())) {
    throw_bad_input("the plan says of " + std::to_string(plan.recompute_sections.size()) +
                    " stages how many of their sections recompute, but has " +
                    std::to_string(plan.stages_per_copy()) + "; give a number for each");
  }
  if (!plan.has_unequal_replicas()) return;
  std::int64_t replicas = 0, samples = 0;
  for (const ReplicaKind& kind : plan.replica_kinds) {
    if (kind.replicas < 1 || kind.samples < 1) {
      throw_bad_input("every kind of replicas needs at least one replica and one sample");
    }
    replicas += kind.replicas;
    samples += std::int64_t{kind.replicas} * kind.samples;
  }
  if (replicas == plan.data && samples == plan.global_batch) return;
  throw_bad_input("the kinds of replicas are " + std::to_string(replicas) + " replicas with " +
                  std::to_string(samples) + " samples, but D is " + std::to_string(plan.data) +
                  " and the batch " + std::to_string(plan.global_batch));
}

PlanDevices enough_devices(const PlanInputs& inputs, const Plan& plan) {
  PlanDevices devices = devices_of(*inputs.cluster, plan, inputs.reserve);
  if (const auto why = too_few_devices(devices, plan); !why.empty()) throw_bad_input(why);
  return devices;
}

// A plan's stage map follows from its schedule; where all ranks are on one type it is not mixed.
Plan as_evaluated(Plan plan) {
  if (plan.is_mixed() &&
      plan.rank_devices.size() == static_cast<std::size_t>(plan.listed_ranks())) {
    set_rank_devices(plan, plan.rank_devices);
  }
  const ScheduleKind* kind = find_schedule(plan.schedule);
  if (kind != nullptr) plan.stage_map = kind->map;
  // Without cuts there are no stages yet whose sections the numbers could count.
  if (plan.cuts.empty()) plan.recompute_sections.clear();
  return plan;
}

// Why the schedule cannot be carried out like this; empty when it can.
std::string why_no_run(const PlanInputs& inputs, const ScheduleKind& kind, const Plan& plan,
                       bool recomputes) {
  if (auto why = why_no_expert_grid(plan); !why.empty()) return why;
  if (auto why = why_no_sharding(kind, plan); !why.empty()) return why;
  if (auto why = why_no_offload(inputs, plan); !why.empty()) return why;
  if (kind.recomputes && !recomputes) {
    return plan.schedule + " recomputes, but recompute mode '" + plan.recompute +
           "' has nothing to recompute";
  }
  if (kind.rule != RunTimeRule::kNone && !straight_replay_is_exact(inputs.executor)) {
    return plan.schedule + ": its order changes while it runs, which executor '" +
           inputs.executor.name + "' does not support";
  }
  return "";
}

}  // namespace

std::string why_no_sharding(const ScheduleKind& kind, const Plan& plan) {
  if (auto why = why_no_sharding(plan); !why.empty()) return why;
  if (kind.backward == BackwardKind::kFused || !plan.reduces_by_section()) return "";
  return plan.schedule + " divides the backward, behind which " + sharding_words(plan) +
         " reduces the gradients of each section";
}

ShortLast short_last_of(const PreparedPlan& prepared) {
  const Plan& plan = prepared.plan;
  const ReplicaLoad load = first_load(plan);
  const bool is_told = plan.has_even_batch() && !plan.has_unequal_replicas() && !plan.is_mixed();
  if (!is_told || load.rest == 0) return {};
  const auto shapes = micro_batch_shapes(plan);
  const auto last = std::find_if(shapes.begin(), shapes.end(), [&](const MicroBatchShape& shape) {
    return shape.samples == load.rest;
  });
  return {&prepared.sums.of_shape(static_cast<std::size_t>(last - shapes.begin())),
          load.micro_batches};
}

PlanSums::PlanSums(const ModelProfile& profile, const PlanDevices& devices, const Plan& plan)
    : type_of_rank_(devices.type_of_rank), pipeline_(plan.pipeline) {
  for (int kind = 0; plan.has_unequal_replicas() && kind < plan.kinds(); ++kind) {
    shapes_.push_back(shapes_of_kind(plan, kind));
  }
  const std::vector<MicroBatchShape> shapes = micro_batch_shapes(plan);
  if (!plan.has_even_batch()) full_size_ = largest_shape(shapes);
  sums_.reserve(devices.types.size());
  for (const DeviceCluster& type : devices.types) {
    std::vector<SectionSums>& of_type = sums_.emplace_back();
    of_type.reserve(shapes.size());
    for (const MicroBatchShape& shape : shapes) {
      of_type.push_back(
          sum_table(profile, plan.tensor, plan.other_degrees(),
                    price_plan_sections(profile, type.spec, type.device.name, plan, shape)));
    }
  }
}

std::string PlanSums::why_not() const {
  for (const auto& of_type : sums_) {
    for (const SectionSums& shape : of_type) {
      if (!shape.why_not.empty()) return shape.why_not;
    }
  }
  return "";
}

bool PlanSums::recomputes() const {
  return std::any_of(sums_.begin(), sums_.end(),
                     [](const auto& of_type) { return of_type[0].recompute.back() > 0; });
}

RankSums PlanSums::full_size() const {
  if (sums_.size() == 1) return sums_[0][full_size_];
  std::vector<const SectionSums*> of_rank;
  of_rank.reserve(static_cast<std::size_t>(pipeline_));
  for (int rank = 0; rank < pipeline_; ++rank) {
    const SectionSums* slowest = nullptr;  // of all kinds of replicas
    for (auto at = static_cast<std::size_t>(rank); at < type_of_rank_.size();
         at += static_cast<std::size_t>(pipeline_)) {
      const SectionSums& one = of_type(type_of_rank_[at])[full_size_];
      if (slowest == nullptr || one.work.back() > slowest->work.back()) slowest = &one;
    }
    of_rank.push_back(slowest);
  }
  return RankSums(std::move(of_rank));
}

RankTables PlanSums::tables() const {
  if (sums_.size() == 1 && shapes_.empty()) return tables_of(sums_[0]);
  std::vector<std::vector<const SectionTable*>> of_rank;
  of_rank.reserve(type_of_rank_.size());
  for (const int type : type_of_rank_) {
    std::vector<const SectionTable*> tables = tables_of(of_type(type));
    if (!shapes_.empty()) {
      const ShapeRange& own = shapes_[of_rank.size() / static_cast<std::size_t>(pipeline_)];
      tables = {tables.begin() + own.first, tables.begin() + own.end};
    }
    of_rank.push_back(std::move(tables));
  }
  return RankTables::of_each(std::move(of_rank));
}

Plan keeping(Plan plan) {
  plan.recompute = "none";
  plan.recompute_sections.clear();
  return plan;
}

PreparedPlan prepare(const PlanInputs& inputs, const Plan& plan) {
  PreparedPlan prepared;
  prepared.plan = as_evaluated(plan);
  refuse_nonsense(inputs, prepared.plan);
  prepared.devices = enough_devices(inputs, prepared.plan);
  std::string why = why_no_program(prepared.plan);
  if (why.empty()) {
    prepared.kind = find_schedule(plan.schedule);
    prepared.sums = PlanSums(*inputs.profile, prepared.devices, prepared.plan);
    why = prepared.sums.why_not();
  }
  if (why.empty()) {
    why = why_no_run(inputs, *prepared.kind, prepared.plan, prepared.sums.recomputes());
  }
  if (!why.empty()) prepared.why_not = reason(std::move(why));
  return prepared;
}

}  // namespace penstock
