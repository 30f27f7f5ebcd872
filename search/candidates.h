// The space of the search. A group is what shares prices and work per step (device type, T,
// C, EP, recompute mode, b, P, D); its candidates differ in schedule, V, sharding and placement.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/values/sharding.h"
#include "search/best_plans.h"
#include "search/device_cluster.h"
#include "search/incumbents.h"
#include "search/rejections.h"
#include "search/section_sums.h"
#include "search/sharding_choices.h"
#include "simulator/schedules/schedules.h"

namespace penstock {

// Stages per rank where the schedule leaves them open: few at first; more once good plans are
// known, since most of those lose against them.
enum class ChunkRange { kFew, kMore };

struct ScheduleChoice {
  const ScheduleKind* kind = nullptr;
  int chunks = 1;
};

// Prices of one (device type, T, C, EP, recompute mode, b).
struct SearchKey {
  int device = 0;  // index into SearchSpace::devices
  int tensor = 1;
  OtherDegrees others{};
  std::string recompute;
  int micro_batch_size = 1;
  SectionSums sums;
  std::string why_not;  // no plan can use it: the reason
  // On one rank the parts of a backward may take less than the whole.
  bool splitting_may_pay = false;
  // The same in mode "none", where a schedule of the space recomputes on all ranks but the last.
  std::shared_ptr<const SectionSums> kept;

  // Of one pipeline rank.
  [[nodiscard]] int devices_per_rank() const { return tensor * others.context; }
};

// Consecutive pipeline ranks on one device type.
struct RankRun {
  int key = 0;  // index into SearchSpace::keys
  int ranks = 1;
  auto operator<=>(const RankRun&) const = default;
};

struct CandidateGroup {
  int key = 0;                   // index into SearchSpace::keys; of a mixed group that of rank 0
  std::vector<RankRun> mixed{};  // of a mixed group: its ranks in order
  int pipeline = 1;
  int data = 1;
  Duration bound{};    // no candidate of the group is faster
  Bytes least_memory;  // nor does any need less on its fullest rank
  ChunkRange chunks = ChunkRange::kFew;
  std::int64_t candidates = 0;
  int devices = 1;
  std::int64_t replay_size = 1;  // stages times micro-batches: what one replay costs
};

struct SearchSpace {
  std::vector<DeviceCluster> devices;
  std::vector<SearchKey> keys;
  std::vector<CandidateGroup> groups;  // ascending bound; ties in order of enumeration
  std::int64_t candidates = 0, bounded = 0;
  Rejections rejected;  // whole groups that cannot run
};

// Groups on one device type, with the numbers of replicas that are tried first.
SearchSpace enumerate(const PlanInputs& inputs, const SearchRequest& request);

// The same space with the groups on one type that have any other useful number of replicas,
// ascending in bound; those whose bound loses against `known` are counted and not kept.
SearchSpace enumerate_other_degrees(const PlanInputs& inputs, const SearchRequest& request,
                                    SearchSpace space, const Incumbents& known);

// Turns groups into those of their candidates that have more chunks; groups without any are left
// out, and those whose bound loses against `known` are counted and not kept.
SearchSpace with_more_chunks(const PlanInputs& inputs, const SearchRequest& request,
                             SearchSpace space, const Incumbents& known);

// Which numbers of replicas are tried first when at most `devices` may be used: all of them if that
// is few; else, for all devices and for each halving, the fewest replicas that have the same load
// as the most; for all also the most that divide the batch.
// Only multiples of `multiple`.
std::set<int> data_degrees(const SearchRequest& request, int devices, int devices_per_replica,
                           int multiple = 1);

// What the whole pipeline of a plan of this grid must hold for a step at least, whatever it shards:
// parameters, gradients, optimizer state.
Bytes least_state(const PlanInputs& inputs, const SearchRequest& request, const SearchKey& key,
                  int pipeline, int data);

// Candidates of a group with this P and D, so many schedule_choices() and ways to shard.
std::int64_t candidates_of(const SearchRequest& request, const SearchKey& key,
                           std::size_t schedules, std::size_t shardings, int pipeline, int data);

// What the candidates of a group with this P and D may choose from. `splitting_may_pay`: of its
// key, which only matters on one rank.
std::vector<ScheduleChoice> schedule_choices(const SearchRequest& request, int sections,
                                             int pipeline, ChunkRange range = ChunkRange::kFew,
                                             bool splitting_may_pay = false);
// sharding_choices() of a group on the key's devices.
std::vector<ShardingChoice> shardings_of_key(const SearchSpace& space, const SearchRequest& request,
                                             int key, int pipeline, int data);
// Of ranks that lie apart in replicas some have experts between them: then replicas are inner.
std::vector<Placement> placement_choices(const SearchRequest& request, const SearchKey& key,
                                         int pipeline, int data);

// The plan that a group stands for, before schedule, V, sharding, placement and cuts.
Plan plan_of(const SearchSpace& space, const SearchRequest& request, const CandidateGroup& group);

}  // namespace penstock
