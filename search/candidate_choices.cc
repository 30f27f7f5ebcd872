// What the candidates of a group differ in, and which numbers of replicas groups have: degrees,
// schedules, chunks, sharding, placement. All are thinned by rules that do not depend on costs
// (candidates.cc).
#include "search/candidate_choices.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include "core/values/expert_grid.h"
#include "costmodel/sharded_state.h"
#include "search/plan_program.h"

namespace penstock {
namespace {

constexpr int kFewChunks = 4;       // V = 2..4 at first
constexpr int kDeviceHalvings = 3;  // N, N/2, N/4, N/8 devices

bool is_named(const SearchRequest& request, const ScheduleKind& kind) {
  const auto& wanted = request.pins.schedules;
  return std::find(wanted.begin(), wanted.end(), kind.name) != wanted.end();
}

// On one rank all schedules do the same work, some with the backward in one part, some in two. Of
// the former 1F1B holds least, of the latter ZB-H1.
bool stands_for_all_on_one_rank(const ScheduleKind& kind, bool splitting_may_pay) {
  return kind.name == "1f1b" || (kind.name == "zb-h1" && splitting_may_pay);
}

void set_degrees(const SearchKey& key, Plan& plan) {
  plan.tensor = key.tensor;
  plan.context = key.others.context;
  plan.context_kind = key.others.context_kind;
  plan.expert = key.others.expert;
  plan.expert_tensor = key.others.expert_tensor;
}

// Shards in groups of so many.
bool has_whole_experts(const SearchKey& key, int group) {
  const int ranks = key.others.expert * key.others.expert_tensor_of(key.tensor);
  return ranks == key.tensor || hold_whole_experts(group * key.tensor, ranks);
}

// Replicas on at most `devices`: all numbers if they are few; else as evenly loaded as possible, a
// divisor of the batch, and for half and less of the devices.
void add_degrees(const SearchRequest& request, int devices, int devices_per_replica, int multiple,
                 std::set<int>& degrees) {
  const auto down = [multiple](int d) { return d - d % multiple; };
  const int all = down(std::min(devices / devices_per_replica, request.global_batch));
  if (all / multiple <= kFewReplicas) {
    for (int d = multiple; d <= all; d += multiple) degrees.insert(d);
    return;
  }
  for (int halving = 0; halving <= kDeviceHalvings; ++halving) {
    const int most =
        down(std::min((devices >> halving) / devices_per_replica, request.global_batch));
    if (most < 1) break;
    const int load = (request.global_batch + most - 1) / most;
    const int fewest = (request.global_batch + load - 1) / load;
    degrees.insert(std::min(down(fewest + multiple - 1), most));
    if (halving > 0) continue;
    int divisor = most;
    while (divisor > multiple && request.global_batch % divisor != 0) divisor -= multiple;
    degrees.insert(divisor);
  }
}

}  // namespace

bool is_enumerated(const SearchRequest& request, const ScheduleKind& kind) {
  if (kind.has_slices) return false;
  if (request.trainer != nullptr && !why_not_run(*request.trainer, kind).empty()) return false;
  // Shards of two copies lie on all holders, in no groups.
  if (request.pins.shard_group && copies_of(kind.map) > 1) return false;
  if (!request.pins.schedules.empty()) return is_named(request, kind);
  return !kind.only_when_named;
}

std::set<int> data_degrees(const SearchRequest& request, int devices, int devices_per_replica,
                           int multiple) {
  std::set<int> degrees;
  if (request.pins.data) {
    const bool fits = *request.pins.data * devices_per_replica <= devices &&
                      *request.pins.data <= request.global_batch &&
                      *request.pins.data % multiple == 0;
    if (fits) degrees.insert(*request.pins.data);
    return degrees;
  }
  if (request.sizes.empty()) add_degrees(request, devices, devices_per_replica, multiple, degrees);
  for (const int size : request.sizes) {
    add_degrees(request, std::min(size, devices), devices_per_replica, multiple, degrees);
  }
  return degrees;
}

Bytes least_state(const PlanInputs& inputs, const SearchRequest& request, const SearchKey& key,
                  int pipeline, int data) {
  const TrainingState& training = inputs.profile->training;
  const TiedParameters ties(*inputs.profile, key.tensor);
  HeldParameters parameters = key.sums.held(0, key.sums.sections());
  parameters.all -= ties.repeated(0, key.sums.sections());
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  Plan plan;
  plan.pipeline = pipeline;
  plan.data = data;
  set_degrees(key, plan);
  // Groups of shards hold more than one group of all.
  for (const ShardingChoice& choice :
       sharding_choices(request, pipeline, data * key.others.context)) {
    set_sharding(choice, plan);
    least = std::min(least, ShardedState(training, plan).least_of(parameters));
  }
  return Bytes{least + key.sums.fixed.back()};
}

std::int64_t candidates_of(const SearchRequest& request, const SearchKey& key,
                           std::size_t schedules, std::size_t shardings, int pipeline, int data) {
  return static_cast<std::int64_t>(schedules * shardings *
                                   placement_choices(request, key, pipeline, data).size());
}

std::vector<ScheduleChoice> schedule_choices(const SearchRequest& request, int sections,
                                             int pipeline, ChunkRange range,
                                             bool splitting_may_pay) {
  std::vector<ScheduleChoice> choices;
  const bool more = range == ChunkRange::kMore;
  if (more && request.pins.chunks) return choices;  // pinned: all are among the few
  for (const ScheduleKind& kind : schedule_kinds()) {
    if (!is_enumerated(request, kind) || (more && kind.most_chunks > 0)) continue;
    if (pipeline == 1 && kind.fewest_chunks > 1) continue;  // nothing to interleave
    if (pipeline == 1 && kind.is_costly) continue;          // nothing to arrange
    if (pipeline == 1 && request.pins.schedules.empty() &&
        !stands_for_all_on_one_rank(kind, splitting_may_pay)) {
      continue;
    }
    const int stages = sections * copies_of(kind.map);
    int most = kind.most_chunks;
    if (most == 0) most = more ? stages / pipeline : request.pins.chunks.value_or(kFewChunks);
    const int fewest = more ? kFewChunks + 1 : kind.fewest_chunks;
    for (int v = fewest; v <= most && v * pipeline <= stages; ++v) {
      if (allowed(request.pins.chunks, v)) choices.push_back({&kind, v});
    }
  }
  return choices;
}

std::vector<ShardingChoice> shardings_of_key(const SearchSpace& space, const SearchRequest& request,
                                             int key, int pipeline, int data) {
  const SearchKey& of = space.keys[static_cast<std::size_t>(key)];
  std::vector<ShardingChoice> choices =
      sharding_choices(request, pipeline, data * of.others.context);
  // A pinned group is refused with its reason.
  if (!request.pins.shard_group) {
    std::erase_if(choices, [&](const ShardingChoice& choice) {
      return choice.group > 0 && !has_whole_experts(of, choice.group);
    });
  }
  return choices;
}

std::vector<Placement> placement_choices(const SearchRequest& request, const SearchKey& key,
                                         int pipeline, int data) {
  if (request.pins.placement) return {*request.pins.placement};
  if (pipeline == 1 || data == 1) return {Placement::kPipelineInner};
  if (replicas_multiple(key.others, key.tensor) > 1) return {Placement::kDataInner};
  return {Placement::kPipelineInner, Placement::kDataInner};
}

Plan plan_of(const SearchSpace& space, const SearchRequest& request, const CandidateGroup& group) {
  const SearchKey& key = space.keys[static_cast<std::size_t>(group.key)];
  Plan plan;
  if (!request.pins.schedules.empty()) plan.schedule = request.pins.schedules.front();
  plan.pipeline = group.pipeline;
  plan.data = group.data;
  set_degrees(key, plan);
  plan.micro_batch_size = key.micro_batch_size;
  plan.global_batch = request.global_batch;
  plan.sequence_length = request.sequence_length;
  plan.recompute = key.recompute;
  const auto name_of_key = [&](int of) {
    const auto device = static_cast<std::size_t>(space.keys[static_cast<std::size_t>(of)].device);
    return space.devices[device].device.name;
  };
  plan.device = name_of_key(group.key);
  for (const RankRun& run : group.mixed) {
    plan.rank_devices.resize(plan.rank_devices.size() + static_cast<std::size_t>(run.ranks),
                             name_of_key(run.key));
  }
  return plan;
}

}  // namespace penstock
