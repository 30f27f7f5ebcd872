#include "core/values/expert_grid.h"

#include <numeric>

namespace penstock {
namespace {

std::string text(int number) { return std::to_string(number); }

// Which ranks of a stage are neighbours.
std::string why_not_placed(const Plan& plan) {
  const bool apart = plan.placement == Placement::kPipelineInner && plan.pipeline > 1;
  if (!apart || plan.devices_per_rank() % plan.expert_ranks() == 0) return "";
  return "ranks that have the experts between them are neighbours, and the replicas of a stage are "
         "not: choose placement data-inner (Megatron-LM's order tp-cp-ep-dp-pp)";
}

}  // namespace

std::string why_no_expert_grid(const Plan& plan) {
  const int within = plan.other_degrees().expert_tensor_of(plan.tensor);
  if (within != 1 && within != plan.tensor) {
    return "ETP = " + text(within) +
           ": an expert lies on 1 rank, or on all TP = " + text(plan.tensor);
  }
  if (!plan.has_expert_grid()) return "";
  if (plan.is_mixed() || plan.has_unequal_replicas()) {
    return "with several device types, or replicas that differ, every rank has its part of all "
           "experts: choose EP = 1";
  }
  const int ranks = plan.expert_ranks(), of_stage = plan.data * plan.devices_per_rank();
  if (of_stage % ranks != 0) {
    return "EP " + text(plan.expert) + " x ETP " + text(within) +
           " does not divide the DP CP TP = " + text(of_stage) + " ranks of a stage";
  }
  if (ranks % plan.tensor != 0) {
    return "EP " + text(plan.expert) +
           " with whole experts (ETP 1) is no multiple of TP = " + text(plan.tensor);
  }
  if (std::string why = why_not_placed(plan); !why.empty()) return why;
  const int group = plan.shard_group * plan.tensor;
  if (group > 0 && !hold_whole_experts(group, ranks)) {
    return "groups of " + text(plan.shard_group) + " shards do not hold whole experts of EP " +
           text(plan.expert);
  }
  if (has_equal_micro_batches(plan)) return "";
  return "EP " + text(plan.expert) +
         " needs the same micro-batches in every replica: its tokens meet in every layer";
}

bool hold_whole_experts(int devices, int ranks) {
  return devices % ranks == 0 || ranks % devices == 0;
}

std::string expert_words(const Plan& plan) {
  if (plan.expert == 1 && plan.expert_tensor == 0) return "";
  const bool told = plan.expert_tensor > 0 || plan.tensor > 1;
  const int within = plan.other_degrees().expert_tensor_of(plan.tensor);
  return "EP " + text(plan.expert) + (told ? " x ETP " + text(within) : "");
}

std::string other_degrees_words(const Plan& plan) {
  std::string words;
  if (plan.context > 1) words += " x CP " + text(plan.context);
  if (plan.context > 1 && plan.context_kind == ContextKind::kAllGather) words += " (all-gather)";
  if (plan.context > 1 && plan.context_kind == ContextKind::kUlysses) words += " (Ulysses)";
  if (std::string experts = expert_words(plan); !experts.empty()) words += " x " + experts;
  return words;
}

int replicas_multiple(const OtherDegrees& others, int tensor) {
  const int ranks = others.expert * others.expert_tensor_of(tensor);
  return ranks / std::gcd(ranks, others.context * tensor);
}

}  // namespace penstock
