// What a plan shards over the holders of its weights: in words, and whether it can.
#pragma once

#include <string>

#include "core/values/plan.h"

namespace penstock {

struct ShardingChoice {
  bool zero1 = false;
  Sharding sharding = Sharding::kState;
  int group = 0;
  bool offload = false;  // the optimizer's state, to the host
  bool operator==(const ShardingChoice&) const = default;
};
void set_sharding(const ShardingChoice& choice, Plan& plan);
ShardingChoice sharding_of(const Plan& plan);

// Why no plan of this grid and batch can shard like this; empty when one can.
std::string why_no_sharding(const Plan& plan);

// "ZeRO-1", "FSDP", with groups of shards "HSDP 8 x 16" (shards by groups); empty where nothing is
// sharded.
std::string sharding_words(const Plan& plan);
// Whether it has any.
[[nodiscard]] inline bool says_sharding(const Plan& plan) {
  return plan.zero1 || plan.offload_optimizer;
}
}  // namespace penstock
