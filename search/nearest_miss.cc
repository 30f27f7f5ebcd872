// Each miss is worked out in full, since bounds of several groups cannot be compared, and the one
// whose fullest rank is least over is told. Where every plan was left out before cuts, the plans
// that hold least take their place: one replica on all GPUs, for every T.
#include "search/nearest_miss.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/values/expert_grid.h"
#include "costmodel/price_stages.h"
#include "search/candidates.h"
#include "search/device_cluster.h"
#include "search/remedies.h"
#include "simulator/schedules/schedules.h"

namespace penstock {
namespace {

struct Miss {
  std::size_t rank = 0;
  Bytes over{};
};

// By how much the fullest rank is over; nothing where the plan cannot be worked out.
std::optional<Miss> full_miss(const PlanInputs& inputs, const Plan& closest) {
  Plan plan = closest;
  if (find_schedule(plan.schedule) == nullptr) {
    plan.schedule = plan.chunks > 1 ? "interleaved" : "1f1b";
  }
  if (plan.stages_per_copy() > static_cast<int>(inputs.profile->sections.size())) return {};
  const Evaluation evaluation = evaluate(inputs, plan).evaluation;
  std::optional<Miss> most;
  for (std::size_t r = 0; r < evaluation.ranks.size(); ++r) {
    const RankEvaluation& rank = evaluation.ranks[r];
    const Bytes over = rank.memory.total() - rank.capacity;
    if (over.count > 0 && (!most || over.count > most->over.count)) most = Miss{r, over};
  }
  return most;
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
    if (entry.rejection.least_over) plans.push_back(entry.closest);
  }
  if (plans.empty()) return {};
  for (Plan& plan : smallest_plans(inputs, request, plans.front()))
    plans.push_back(std::move(plan));
  std::optional<Miss> least;
  const Plan* nearest = nullptr;
  for (const Plan& plan : plans) {
    const std::optional<Miss> miss = full_miss(inputs, plan);
    if (!miss || (least && miss->over.count >= least->over.count)) continue;
    least = miss;
    nearest = &plan;
  }
  if (nearest == nullptr) return {};
  Rejections::Entry entry;
  entry.closest = *nearest;
  entry.rejection.reason =
      plan_words(*nearest) + ": rank " + std::to_string(least->rank) + " over memory";
  entry.rejection.candidates = 1;
  entry.rejection.least_over = entry.rejection.most_over = least->over;
  return with_remedy(inputs, entry, request.gpus);
}

}  // namespace penstock
