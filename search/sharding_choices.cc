#include "search/sharding_choices.h"

#include <algorithm>

namespace penstock {
namespace {

// With a pipeline FSDP moves as much as ZeRO-1 and holds more, so it is for trainers that have
// nothing else; ZeRO-2 and 3 are not for a pipeline at all, and only for those without FSDP.
bool is_tried(Sharding sharding, const Trainer* trainer, int pipeline) {
  if (sharding == Sharding::kState) return trainer == nullptr || trainer->shards_state_alone;
  if (trainer == nullptr) return sharding == Sharding::kFsdp && pipeline == 1;
  const std::vector<Sharding>& known = trainer->shardings;
  const auto has = [&known](Sharding each) {
    return std::find(known.begin(), known.end(), each) != known.end();
  };
  if (!has(sharding)) return false;
  // As without a trainer, so that none finds a plan that the free search has not.
  if (sharding != Sharding::kFsdp && has(Sharding::kFsdp)) return false;
  return pipeline == 1 || (sharding == Sharding::kFsdp && !trainer->shards_state_alone);
}

}  // namespace

std::vector<ShardingChoice> sharding_choices(const SearchRequest& request, int pipeline,
                                             int holders, int in_node) {
  const Pins& pins = request.pins;
  if (holders == 1) return {{}};
  if (pins.sharding) {
    const int group = pins.shard_group.value_or(0);
    return {{true, *pins.sharding, group == holders ? 0 : group}};
  }
  const Trainer* trainer = request.trainer;
  // A trainer without ZeRO-1 shards the optimizer's state by what it has.
  const bool has_pinned =
      !pins.zero1.value_or(false) || is_tried(Sharding::kState, trainer, pipeline);
  if (pins.zero1 && has_pinned) return {{*pins.zero1}};
  std::vector<ShardingChoice> choices;
  for (const Sharding sharding :
       {Sharding::kFsdp, Sharding::kParameters, Sharding::kGradients, Sharding::kState}) {
    if (!is_tried(sharding, trainer, pipeline)) continue;
    choices.push_back({true, sharding});
    const bool has_groups = sharding == Sharding::kFsdp && pipeline == 1 && in_node > 1 &&
                            in_node < holders && holders % in_node == 0;
    if (has_groups) choices.push_back({true, sharding, in_node});
  }
  if (!pins.zero1) choices.push_back({});
  return choices;
}

int holders_in_node(const DeviceCluster& cluster, int tensor) {
  if (cluster.node_sizes.size() != 1) return 0;
  const int in_node = cluster.node_sizes.front() / tensor;
  return in_node > 1 ? in_node : 0;
}

}  // namespace penstock
