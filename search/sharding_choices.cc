#include "search/sharding_choices.h"

#include <algorithm>

namespace penstock {
namespace {

// With a pipeline FSDP moves as much as ZeRO-1 and holds more, so it is for trainers that have
// nothing else; ZeRO-2 and 3 are not for a pipeline at all.
bool is_tried(Sharding sharding, const Trainer* trainer, int pipeline) {
  if (sharding == Sharding::kState) return trainer == nullptr || trainer->shards_state_alone;
  if (trainer == nullptr) return pipeline == 1;
  const std::vector<Sharding>& known = trainer->shardings;
  if (std::find(known.begin(), known.end(), sharding) == known.end()) return false;
  return pipeline == 1 || (sharding == Sharding::kFsdp && !trainer->shards_state_alone);
}

// The largest first, since they hold least.
void add_groups(Sharding sharding, int holders, std::vector<ShardingChoice>& choices) {
  for (int size = holders / 2; size > 1; --size) {
    if (holders % size == 0) choices.push_back({true, sharding, size});
  }
}

// Of what shards, with the optimizer's state on the device.
std::vector<ShardingChoice> on_device(const SearchRequest& request, int pipeline, int holders) {
  const Pins& pins = request.pins;
  if (holders == 1 && pins.shard_group.value_or(1) > 1) return {};  // nobody to be in a group with
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
    if (pipeline == 1 && sharding >= Sharding::kParameters) {
      add_groups(sharding, holders, choices);
    }
  }
  if (!pins.zero1) choices.push_back({});
  return choices;
}

}  // namespace

std::vector<ShardingChoice> sharding_choices(const SearchRequest& request, int pipeline,
                                             int holders) {
  std::vector<ShardingChoice> choices = on_device(request, pipeline, holders);
  const bool is_tried = request.pins.offload.value_or(true) &&
                        (request.trainer == nullptr || request.trainer->offloads_optimizer);
  if (!is_tried) return choices;
  const bool needs_zero = holders > 1 && request.trainer != nullptr &&
                          request.trainer->schedules != TrainerSchedules::kOwnRuntime;
  // Those with the state on the host hold less and come first.
  std::vector<ShardingChoice> all;
  for (ShardingChoice choice : choices) {
    if (choice.zero1 && choice.sharding == Sharding::kFsdp) continue;
    if (needs_zero && !choice.zero1) continue;
    choice.offload = true;
    all.push_back(choice);
  }
  if (!request.pins.offload) all.insert(all.end(), choices.begin(), choices.end());
  return all;
}

}  // namespace penstock
