#include "cli/options/estimate_options.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/values/sharding.h"
#include "estimator/attention_rate.h"

namespace penstock {
namespace {

using Member = std::optional<std::string> EstimateSettings::*;
constexpr std::array<std::pair<const char*, Member>, 12> kOptions{{
    {"gpus-per-node", &EstimateSettings::gpus_per_node},
    {"network", &EstimateSettings::network},
    {"precision", &EstimateSettings::precision},
    {"attention", &EstimateSettings::attention},
    {"gradients", &EstimateSettings::gradients},
    {"optimizer-bytes", &EstimateSettings::optimizer_bytes},
    {"kernels", &EstimateSettings::kernels},
    {"loss", &EstimateSettings::loss},
    {"fsdp-prefetch", &EstimateSettings::fsdp_prefetch},
    {"sequence-parallelism", &EstimateSettings::sequence_parallelism},
    {"expert-imbalance", &EstimateSettings::expert_imbalance},
    {"expert-dispatch", &EstimateSettings::expert_dispatch},
}};

std::string loss_name(LossKind kind) {
  switch (kind) {
    case LossKind::kApart:
      return "apart";
    case LossKind::kInPlace:
      return "in-place";
    case LossKind::kEager:
      break;
  }
  return "eager";
}

}  // namespace

std::vector<EstimateOption> estimate_options_of(const EstimatedModel& estimated, const Plan& plan) {
  const EstimateRequest& asked = estimated.request;
  std::vector<EstimateOption> options;
  const auto add = [&](const char* name, std::string value) {
    options.push_back({name, std::move(value)});
  };
  if (estimated.device.node.is_asked) {
    add("gpus-per-node", std::to_string(estimated.device.node.devices));
  }
  if (estimated.device.network && !estimated.device.network->asked.empty()) {
    add("network", estimated.device.network->asked);
  }
  if (asked.arithmetic != default_arithmetic(estimated.device)) {
    add("precision", std::string(name_of(asked.arithmetic)));
  }
  if (asked.attention) add("attention", std::string(name_of(*asked.attention)));
  if (asked.gradient_bytes == 2) add("gradients", "bfloat16");
  if (asked.optimizer_bytes) add("optimizer-bytes", std::to_string(*asked.optimizer_bytes));
  if (asked.eager_kernels) add("kernels", "eager");
  if (asked.loss) add("loss", loss_name(*asked.loss));
  if (!asked.sequence_parallel && plan.tensor > 1) add("sequence-parallelism", "off");
  // Without sharded weights nothing is gathered, and with EP = 1 nothing is sent to experts.
  if (asked.gathers_ahead && plan.sharding == Sharding::kFsdp) {
    add("fsdp-prefetch", *asked.gathers_ahead ? "backward-pre" : "backward-post");
  }
  if (plan.expert == 1) return options;
  if (asked.expert_imbalance != 1.0) {
    add("expert-imbalance", fmt::format("{}", asked.expert_imbalance));
  }
  if (!asked.dispatches_once) add("expert-dispatch", "copies");
  return options;
}

std::optional<EstimateSettings> settings_with(const std::vector<EstimateOption>& options) {
  EstimateSettings settings;
  for (const EstimateOption& option : options) {
    const auto known = std::find_if(kOptions.begin(), kOptions.end(),
                                    [&](const auto& one) { return option.name == one.first; });
    if (known == kOptions.end()) return {};
    settings.*(known->second) = option.value;
  }
  return settings;
}

}  // namespace penstock
