// Takes the plan that came closest to fit, changes one thing at a time (single_changes()) and
// evaluates it as the search would; the first that fits is offered. What needs more devices than
// were asked for comes last.
#include "search/remedies.h"

#include <algorithm>
#include <utility>

#include "core/values/expert_grid.h"
#include "core/values/recompute_sections.h"
#include "core/values/sharding.h"
#include "costmodel/price_stages.h"
#include "search/arrange.h"
#include "search/choose_cuts.h"
#include "search/device_cluster.h"
#include "search/host_room.h"
#include "search/memory.h"
#include "search/plan_program.h"
#include "search/prepared_plan.h"
#include "search/section_sums.h"
#include "simulator/schedules/schedules.h"

namespace penstock {
namespace {

// Whether the hosts have room for what the plan keeps there.
bool fits_hosts(const PlanInputs& inputs, const Plan& plan) {
  if (!plan.offload_optimizer) return true;
  if (!why_no_offload(inputs, plan).empty()) return false;
  const PricedPlan priced = price(inputs, plan);
  return !priced.why_not && !over_host_memory(inputs, plan, priced.prices);
}

// Whether the plan fits, cuts chosen as the search does.
bool fits(const PlanInputs& inputs, const Plan& plan) {
  const PlanDevices devices = devices_of(*inputs.cluster, plan, inputs.reserve);
  if (plan.stages_per_copy() > static_cast<int>(inputs.profile->sections.size()) ||
      !too_few_devices(devices, plan).empty() || !why_no_program(plan).empty() ||
      !why_no_expert_grid(plan).empty() ||
      !why_no_sharding(*find_schedule(plan.schedule), plan).empty()) {
    return false;
  }
  std::vector<SectionSums> of_type;
  of_type.reserve(devices.types.size());
  for (const DeviceCluster& type : devices.types) {
    of_type.push_back(sum_sections(*inputs.profile, type.spec, type.device.name, plan.tensor,
                                   plan.micro_batch_size, plan.sequence_length, plan.recompute,
                                   plan.other_degrees()));
    if (!of_type.back().why_not.empty()) return false;
  }
  std::vector<const SectionSums*> of_rank;
  of_rank.reserve(devices.type_of_rank.size());
  for (const int type : devices.type_of_rank) {
    of_rank.push_back(&of_type[static_cast<std::size_t>(type)]);
  }
  const RankSums sums = plan.is_mixed() ? RankSums(std::move(of_rank)) : RankSums(of_type[0]);
  const BackwardKind backward = find_schedule(plan.schedule)->backward;
  const auto balanced = balanced_cuts(sums, plan, backward);
  const TiedParameters ties(*inputs.profile, plan.tensor);
  const HeldCounts held = exactly_held_of(with_stand_in(plan));
  const StageMemory memory(sums, ties, {inputs.profile->training, plan}, held, devices.reserve(),
                           devices.memory());
  Cuts cuts = choose_cuts(sums, memory, plan, backward, *balanced);
  if (cuts.why_not) return false;
  Plan with_cuts = plan;
  with_cuts.cuts = std::move(cuts.cuts);
  return fits_hosts(inputs, with_cuts);
}

using Change = std::pair<Plan, std::string>;

std::vector<Change> single_changes(const PlanInputs& inputs, const Plan& plan) {
  std::vector<Change> changes;
  const auto add = [&](std::string words, auto change) {
    Plan changed = plan;
    changed.cuts.clear();
    changed.recompute_sections.clear();
    change(changed);
    changes.emplace_back(std::move(changed), std::move(words));
  };
  if (!plan.zero1 && plan.data > 1) {
    add("ZeRO-1", [](Plan& p) { p.zero1 = true; });
  }
  for (const std::string& mode : measured_recompute_modes(*inputs.profile, plan.device)) {
    if (mode == plan.recompute || mode == "none") continue;
    add(mode + " recompute", [&](Plan& p) { p.recompute = mode; });
  }
  for (int b = plan.micro_batch_size / 2; b >= 1 && plan.has_even_batch(); b /= 2) {
    add("micro-batch size " + std::to_string(b), [&](Plan& p) { p.micro_batch_size = b; });
  }
  for (int p = plan.pipeline + 1; p <= 2 * plan.pipeline && !plan.is_mixed(); ++p) {
    add("PP " + std::to_string(p), [p](Plan& changed) { changed.pipeline = p; });
  }
  for (const int degree : measured_tensor_degrees(*inputs.profile, plan.device)) {
    if (degree <= plan.tensor) continue;
    add("TP " + std::to_string(degree), [&](Plan& p) { p.tensor = degree; });
  }
  return changes;
}

// What needs more devices than asked for comes last, and says how many.
void devices_last(std::vector<Change>& changes, int gpus) {
  std::stable_sort(changes.begin(), changes.end(), [&](const Change& a, const Change& b) {
    return std::max(a.first.devices(), gpus) < std::max(b.first.devices(), gpus);
  });
  for (auto& [plan, words] : changes) {
    if (plan.devices() > gpus) words += " on " + std::to_string(plan.devices()) + " GPUs";
  }
}

}  // namespace

Rejection with_remedy(const PlanInputs& inputs, const Rejections::Entry& entry, int gpus) {
  Rejection why = entry.rejection;
  const std::string rule = "schedule rule: ";
  if (why.reason.starts_with(rule)) {
    const std::string text = why_no_program(entry.closest);
    why.reason = "rule of the schedule, for example " + text.substr(0, text.find("; use "));
    return why;
  }
  if (!why.least_over) return why;
  auto changes = single_changes(inputs, entry.closest);
  devices_last(changes, gpus);
  for (const auto& [plan, words] : changes) {
    if (fits(inputs, plan)) {
      why.remedy = words;
      break;
    }
  }
  return why;
}

std::string plan_words(const Plan& plan) {
  std::string words = "TP " + std::to_string(plan.tensor);
  words += other_degrees_words(plan);
  words += " x PP " + std::to_string(plan.pipeline) + " x DP " + std::to_string(plan.data);
  if (plan.chunks > 1) words += ", VP " + std::to_string(plan.chunks);
  words += ", mbs " + std::to_string(plan.micro_batch_size);
  if (!plan.schedule.empty() && plan.pipeline > 1) words += ", " + plan.schedule;
  const bool none = plan.recompute == "none";
  words += none ? ", no recompute" : ", " + recompute_in_short(plan) + " recompute";
  if (says_sharding(plan)) words += ", " + sharding_words(plan);
  return plan.is_mixed() ? words + ", ranks on " + device_words(plan) : words;
}

}  // namespace penstock
