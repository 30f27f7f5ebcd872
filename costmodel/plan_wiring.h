// The wires that a plan uses: between its ranks, and for its collectives. It depends on neither the
// model, the cuts nor any size, so plans that differ in those share it.
#pragma once

#include <memory>
#include <vector>

#include "core/values/cluster.h"
#include "core/values/plan.h"
#include "costmodel/device_places.h"
#include "costmodel/links.h"

namespace penstock {

// The way between two pipeline ranks: the worst level over replicas and inner ranks, and the most
// devices of one lower domain that cross it at once, in either direction. Replicas that have these
// two ranks on the same device types are looked at together.
struct RankLink {
  int level = -1;  // -1: one rank
  int flows_there = 1, flows_back = 1;
  int from_type = 0, to_type = 0;  // device types of the cluster
};

// Where one set of devices lies, and how many such sets work at once.
struct Collective {
  GroupShape group;
  int rings = 1;
  bool operator==(const Collective&) const = default;
};

// The ranks of the stages, ascending and each once.
std::vector<int> ranks_of(const Plan& plan, const std::vector<int>& stages);
// The stage that holds the same sections in every copy of the weights.
std::vector<int> in_all_copies(const Plan& plan, int stage);

// Which wires are looked at: of the first stage only the groups that hold it, which takes a part of
// the time that all of them take.
enum class WiredStages { kAll, kFirst };

// Keeps the cluster by reference.
class PlanWiring {
 public:
  PlanWiring(const ClusterSpec& cluster, const Plan& plan, WiredStages wired = WiredStages::kAll);

  [[nodiscard]] const ClusterSpec& cluster() const { return places_.cluster(); }
  // From the rank to the next one, from the last to the first, in replicas of the kind.
  [[nodiscard]] const RankLink& link_behind(int rank, int kind = 0) const {
    const auto ranks = static_cast<std::size_t>(plan_.pipeline);
    return links_[static_cast<std::size_t>(kind) * ranks + static_cast<std::size_t>(rank)];
  }
  // The devices that hold the same weights as this rank's; by the first of all ranks that do.
  [[nodiscard]] const std::vector<Collective>& weight_groups(int rank) const {
    return weight_groups_[static_cast<std::size_t>(rank)];
  }
  // Those of them that divide one set of shards, and those that hold the same shard of other sets
  // (none where all of them divide one set).
  [[nodiscard]] const std::vector<Collective>& shard_groups(int rank) const {
    return plan_.shard_group > 0 ? shard_groups_[static_cast<std::size_t>(rank)]
                                 : weight_groups(rank);
  }
  [[nodiscard]] const std::vector<Collective>& same_shard_groups(int rank) const {
    return same_shard_groups_[static_cast<std::size_t>(rank)];
  }
  // The same of experts, where their ranks are a grid of their own: the devices that hold the same
  // experts of this rank's layers, and of those the ones that divide one set of shards.
  [[nodiscard]] const std::vector<Collective>& expert_groups(int rank) const {
    return plan_.has_expert_grid() ? expert_groups_[static_cast<std::size_t>(rank)]
                                   : weight_groups(rank);
  }
  [[nodiscard]] const std::vector<Collective>& expert_shard_groups(int rank) const {
    if (!plan_.has_expert_grid()) return shard_groups(rank);
    return plan_.shard_group > 0 ? expert_shard_groups_[static_cast<std::size_t>(rank)]
                                 : expert_groups_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] const std::vector<Collective>& same_expert_shard_groups(int rank) const {
    return plan_.has_expert_grid() ? same_expert_shard_groups_[static_cast<std::size_t>(rank)]
                                   : same_shard_groups(rank);
  }
  [[nodiscard]] const Collective& all_devices() const { return all_devices_; }
  // One device of each of these ranks, of one replica and inner rank; the others' groups lie
  // beside it and share its wires. Kept once they are asked for, by any thread: all replicas are
  // looked at, and few ranks are ever tied.
  [[nodiscard]] std::vector<Collective> tied_groups(const std::vector<int>& ranks) const;

 private:
  void find_links();
  void find_weight_groups(int stages);
  [[nodiscard]] RankLink link_between(int rank, int next) const;
  [[nodiscard]] RankLink link_in_kind(int rank, int next, int kind) const;
  void find_shard_groups(const std::vector<int>& ranks);
  void find_expert_groups(const std::vector<int>& ranks);
  // The devices that hold the ranks' weights of one tensor rank, in the order of replicas.
  [[nodiscard]] std::vector<int> holders(const std::vector<int>& ranks, int tensor_rank) const;
  [[nodiscard]] std::vector<Collective> groups_of_all_replicas(const std::vector<int>& ranks) const;
  // Of ascending devices, one of many such groups that work at the same time.
  [[nodiscard]] Collective one_of_many(const std::vector<int>& devices,
                                       const std::vector<int>& ranks) const;
  [[nodiscard]] std::vector<Collective> find_tied_groups(const std::vector<int>& ranks) const;
  [[nodiscard]] int most_in_one_domain(int rank, int level) const;
  template <class Visit>
  void for_each_pair(int rank, int next, Visit visit) const;

  Plan plan_;
  DevicePlaces places_;
  std::vector<int> inner_ranks_;   // that have to be looked at
  std::vector<int> tensor_ranks_;  // those of them with context rank 0
  std::vector<RankLink> links_;    // of every listed rank
  std::vector<std::vector<Collective>> weight_groups_, shard_groups_, same_shard_groups_;
  std::vector<std::vector<Collective>> expert_groups_, expert_shard_groups_,
      same_expert_shard_groups_;
  Collective all_devices_;
  struct KnownTies;
  std::shared_ptr<KnownTies> known_ties_;  // copies have the same
};

}  // namespace penstock
