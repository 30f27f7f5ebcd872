// Each miss is worked out in full, since bounds of several groups cannot be compared, and the one
// whose fullest rank and hosts are least over is told. Where every plan was left out before cuts,
// the plans that hold least take their place: one replica on all GPUs, for every T.
#include "search/nearest_miss.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/values/expert_grid.h"
#include "costmodel/price_stages.h"
#include "search/candidates.h"
#include "search/device_cluster.h"
#include "search/host_room.h"
#include "search/remedies.h"
#include "simulator/schedules/schedules.h"

namespace penstock {
namespace {

struct Miss {
  std::size_t rank = 0;  // the fullest
  Bytes over{};          // 0: its device has room for it
  Bytes over_host{};     // likewise of the host of a node
  [[nodiscard]] Bytes all() const { return over + over_host; }
};

// By how much the fullest rank and the hosts are over; nothing where the plan cannot be worked out,
// or fits.
std::optional<Miss> full_miss(const PlanInputs& inputs, const Plan& closest) {
  Plan plan = closest;
  if (find_schedule(plan.schedule) == nullptr) {
    plan.schedule = plan.chunks > 1 ? "interleaved" : "1f1b";
  }
  if (plan.stages_per_copy() > static_cast<int>(inputs.profile->sections.size())) return {};
  const EvaluatedPlan evaluated = evaluate(inputs, plan);
  const std::vector<RankEvaluation>& ranks = evaluated.evaluation.ranks;
  Miss miss;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const Bytes over = ranks[r].memory.total() - ranks[r].capacity;
    if (over > miss.over) miss.rank = r, miss.over = over;
  }
  if (!ranks.empty()) {
    const auto over_host = over_host_memory(inputs, evaluated.plan, evaluated.prices);
    if (over_host) miss.over_host = *over_host->most_over;
  }
  if (miss.all() == Bytes{}) return {};
  return miss;
}

// What the plan is rejected for, before by how much.
std::string reason_of(const Plan& plan, const Miss& miss) {
  const std::string words = plan_words(plan) + ": ";
  if (miss.over == Bytes{}) return words + kOverHost;
  const std::string rank = "rank " + std::to_string(miss.rank) + " over memory";
  if (miss.over_host == Bytes{}) return words + rank;
  return words + kOverHost + " by " + to_text(miss.over_host) + ", and " + rank;
}

// With what the replicas divide, and what lies on the host, as the request allows: what was left
// out before that was chosen may have any of it.
std::vector<Plan> as_allowed(const SearchRequest& request, const Plan& plan) {
  std::vector<ShardingChoice> choices =
      sharding_choices(request, plan.pipeline, plan.data * plan.context);
  const auto is_plans = [&plan](const ShardingChoice& choice) {
    return choice == sharding_of(plan);
  };
  if (std::any_of(choices.begin(), choices.end(), is_plans)) return {plan};
  std::vector<Plan> plans;
  for (const ShardingChoice& choice : choices) {
    if (choice.group > 0 && !request.pins.shard_group)
      continue;  // holds more than one group of all
    plans.push_back(plan);
    set_sharding(choice, plans.back());
  }
  return plans;
}

// The plans of the space that hold least: of every tensor degree one replica on all GPUs.
std::vector<Plan> smallest_plans(const PlanInputs& inputs, const SearchRequest& request,
                                 const Plan& like) {
  const Pins& pins = request.pins;
  std::vector<Plan> plans;
  if (like.is_mixed() || like.has_unequal_replicas() || !like.has_even_batch()) return plans;
  // The request may count devices of other types, too.
  const PlanDevices devices = devices_of(*inputs.cluster, like, inputs.reserve);
  const int gpus = std::min(request.gpus, devices.types[0].devices);
  if (pins.data.value_or(1) > like.global_batch) return plans;
  for (const int tensor : measured_tensor_degrees(*inputs.profile, like.device)) {
    if (pins.tensor.value_or(tensor) != tensor) continue;
    const int data = pins.data.value_or(1);
    const int most = std::min(gpus / tensor / like.context / data,
                              static_cast<int>(inputs.profile->sections.size()));
    const int pipeline = pins.pipeline.value_or(most);
    if (pipeline < 1 || pipeline > most) continue;
    for (const std::string& mode : measured_recompute_modes(*inputs.profile, like.device)) {
      if (pins.recompute.value_or(mode) != mode) continue;
      Plan plan = like;
      plan.tensor = tensor;
      plan.pipeline = pipeline;
      plan.data = data;
      plan.micro_batch_size = pins.micro_batch_size.value_or(1);
      plan.recompute = mode;
      plan.recompute_sections.clear();
      plan.cuts.clear();
      plan.expert = like.expert;
      if (!why_no_expert_grid(plan).empty()) plan.expert = 1, plan.expert_tensor = 0;
      if (pins.schedules.empty() && !pins.chunks) {
        plan.schedule = "1f1b";
        plan.chunks = 1;
        plan.stage_map = StageMap::kLoop;
      }
      const auto sections = static_cast<int>(inputs.profile->sections.size());
      if (!pins.pipeline && plan.stages_per_copy() > sections) {
        plan.pipeline = std::max(1, sections * plan.copies() / plan.chunks);
      }
      if (plan.stages_per_copy() > sections) continue;
      // Which way to shard holds least depends on the training state.
      for (const auto& choice : sharding_choices(request, plan.pipeline, data * like.context)) {
        if (choice.group > 0 && !pins.shard_group) continue;  // holds more than one group of all
        set_sharding(choice, plan);
        plans.push_back(plan);
      }
    }
  }
  return plans;
}

}  // namespace

std::optional<Rejection> nearest_miss(const PlanInputs& inputs, const SearchRequest& request,
                                      const std::vector<Rejections::Entry>& entries) {
  std::vector<Plan> plans;
  for (const Rejections::Entry& entry : entries) {
    if (!entry.rejection.least_over) continue;
    for (Plan& plan : as_allowed(request, entry.closest)) plans.push_back(std::move(plan));
  }
  if (plans.empty()) return {};
  for (Plan& plan : smallest_plans(inputs, request, plans.front()))
    plans.push_back(std::move(plan));
  std::optional<Miss> least;
  const Plan* nearest = nullptr;
  for (const Plan& plan : plans) {
    const std::optional<Miss> miss = full_miss(inputs, plan);
    if (!miss || (least && miss->all() >= least->all())) continue;
    least = miss;
    nearest = &plan;
  }
  if (nearest == nullptr) return {};
  Rejections::Entry entry;
  entry.closest = *nearest;
  entry.rejection.reason = reason_of(*nearest, *least);
  entry.rejection.candidates = 1;
  const Bytes over = least->over == Bytes{} ? least->over_host : least->over;
  entry.rejection.least_over = entry.rejection.most_over = over;
  return with_remedy(inputs, entry, request.gpus);
}

}  // namespace penstock
