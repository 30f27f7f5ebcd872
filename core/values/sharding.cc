#include "core/values/sharding.h"

namespace penstock {
namespace {

std::string why_no_group(const Plan& plan) {
  if (plan.shard_group == 0) return "";
  if (!plan.zero1 || plan.sharding < Sharding::kParameters) {
    return "groups of shards are for FSDP and ZeRO-3";
  }
  if (plan.copies() > 1) return "with two copies of the weights shards lie on all holders";
  const int holders = plan.weight_copies();
  if (holders % plan.shard_group == 0) return "";
  return "groups of " + std::to_string(plan.shard_group) + " shards do not divide the " +
         std::to_string(holders) + " holders of a stage's weights";
}

}  // namespace

void set_sharding(const ShardingChoice& choice, Plan& plan) {
  plan.zero1 = choice.zero1;
  plan.sharding = choice.sharding;
  plan.shard_group = choice.group;
  plan.offload_optimizer = choice.offload;
}

ShardingChoice sharding_of(const Plan& plan) {
  return {plan.zero1, plan.sharding, plan.shard_group, plan.offload_optimizer};
}

std::string why_no_sharding(const Plan& plan) {
  if (plan.offload_optimizer && plan.zero1 && plan.sharding == Sharding::kFsdp) {
    return "FSDP keeps its master weights with the parameters: the optimizer's state alone cannot "
           "lie on the host";
  }
  if (plan.sharding != Sharding::kState && !plan.zero1) return "nothing is sharded without ZeRO-1";
  if (std::string why = why_no_group(plan); !why.empty()) return why;
  const bool needs_one_rank =
      plan.sharding == Sharding::kGradients || plan.sharding == Sharding::kParameters;
  if (needs_one_rank && plan.pipeline > 1) {
    return sharding_words(plan) + " has no pipeline (DeepSpeed's refuses it): choose PP = 1";
  }
  // Each gather and each reduction waits for all holders.
  if (!plan.reduces_by_section()) return "";
  if (!plan.has_unequal_replicas() && has_equal_micro_batches(plan)) return "";
  // One sentence for all of them, so that a search gives it once.
  return "ZeRO-2, ZeRO-3 and FSDP need the same micro-batches in every replica: gradients are "
         "reduced over all replicas, section by section";
}

namespace {

std::string sharded_words(const Plan& plan) {
  if (!plan.zero1) return "";
  if (plan.shard_group > 0 && plan.shard_group < plan.weight_copies()) {
    return std::string(plan.sharding == Sharding::kFsdp ? "HSDP " : "ZeRO-3 in groups ") +
           std::to_string(plan.shard_group) + " x " +
           std::to_string(plan.weight_copies() / plan.shard_group);
  }
  switch (plan.sharding) {
    case Sharding::kState:
      return "ZeRO-1";
    case Sharding::kGradients:
      return "ZeRO-2";
    case Sharding::kParameters:
      return "ZeRO-3";
    case Sharding::kFsdp:
      return "FSDP";
  }
  return "";
}

}  // namespace

std::string sharding_words(const Plan& plan) {
  std::string sharded = sharded_words(plan);
  if (!plan.offload_optimizer) return sharded;
  return (sharded.empty() ? "" : sharded + ", ") + "optimizer on host";
}

}  // namespace penstock
