#include "report/page/plan_differences.h"

#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/values/recompute_sections.h"
#include "core/values/sharding.h"
#include "report/words.h"

namespace penstock {
namespace {

std::string recompute_words(const Plan& plan) {
  return plan.recompute == "none" ? "no recompute" : "recompute " + recompute_in_short(plan);
}

void add_numbers(std::vector<std::string>& parts, const Plan& first, const Plan& plan) {
  const auto number = [&](std::string_view name, int one, int other) {
    if (one != other) parts.push_back(fmt::format("{} {}", name, other));
  };
  number("TP", first.tensor, plan.tensor);
  number("CP", first.context, plan.context);
  number("EP", first.expert, plan.expert);
  number("PP", first.pipeline, plan.pipeline);
  number("DP", first.data, plan.data);
  number("VP", first.chunks, plan.chunks);
  number("mbs", first.micro_batch_size, plan.micro_batch_size);
  number("gbs", first.global_batch, plan.global_batch);
  number("sequence length", first.sequence_length, plan.sequence_length);
}

std::string placement_words(const Plan& plan) {
  return plan.placement == Placement::kPipelineInner ? "PP ranks next to each other"
                                                     : "DP ranks next to each other";
}

}  // namespace

std::string differences_text(const Plan& first, const Plan& plan) {
  std::vector<std::string> parts;
  add_numbers(parts, first, plan);
  if (plan.schedule != first.schedule) parts.push_back(plan.schedule);
  if (plan.group != first.group && plan.schedule == first.schedule) {
    parts.push_back(fmt::format("interleaving group {}", plan.group));
  }
  if (recompute_words(plan) != recompute_words(first)) parts.push_back(recompute_words(plan));
  if (sharding_words(plan) != sharding_words(first)) {
    parts.push_back(says_sharding(plan) ? sharding_words(plan) : "no " + sharding_words(first));
  }
  if (plan.placement != first.placement && plan.data > 1 && plan.pipeline > 1) {
    parts.push_back(placement_words(plan));
  }
  if (plan.device != first.device) parts.push_back("on " + plan.device);
  if (plan.devices() != first.devices()) parts.push_back(count_of(plan.devices(), "GPU"));
  if (!parts.empty()) return joined(parts, ", ");
  if (plan.rank_devices != first.rank_devices) return "other devices by rank";
  return plan == first ? "" : "other cuts";
}

}  // namespace penstock
