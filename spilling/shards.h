// Shards: runs of consecutive sections of a model, of which two are on the device at a time. Two of
// the three ways to find them; the third is best_shards.h.
#pragma once

#include <functional>
#include <optional>
#include <vector>

namespace penstock {

// Whether sections [first, end) can be one shard: its state twice, its activations, its boundaries.
using FitsShard = std::function<bool(int first, int end)>;

// Shard s holds sections cuts[s] .. cuts[s + 1] - 1.
using ShardCuts = std::vector<int>;

// The greedy longest prefix, as Hydra's pilot pass finds it (arXiv 2110.08633): no partition has
// fewer shards where a part of what fits fits, too. A section belongs to exactly one shard.
struct PilotShards {
  ShardCuts cuts;                // empty where there are none
  std::optional<int> too_large;  // a section that fits by itself nowhere
};
PilotShards pilot_shards(int sections, const FitsShard& fits);

// `last`: the last section of every shard, as a user lists them. Error{kBadInput} unless they
// ascend and end with the model's last section.
ShardCuts preset_shards(const std::vector<int>& last, int sections);

}  // namespace penstock
