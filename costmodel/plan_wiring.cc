// Which level of the cluster each boundary crosses, how many flows share its way out, and which
// devices a collective spans. The slowest pair of devices between two ranks decides the level;
// flows are counted as the longest run of pairs that leave one domain, since devices of a rank
// ascend with the replica. Only the inner ranks that differ in their place are looked at.
#include "costmodel/plan_wiring.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>
#include <utility>

#include "costmodel/transfer_prices.h"

namespace penstock {
namespace {

// Counts equal values that follow one another. Devices of one rank ascend with (replica, inner
// rank), so those of one domain do.
class LongestRun {
 public:
  void add(int value, int count) {
    run_ = value == value_ ? run_ + count : count;
    value_ = value;
    longest_ = std::max(longest_, run_);
  }
  [[nodiscard]] int longest() const { return longest_; }

 private:
  int value_ = -1, run_ = 0, longest_ = 1;
};

// Devices after which the domains of all levels are what they were, but for those that hold all: of
// nodes that are alike, one node. 0: there are no such.
int period_of(const ClusterSpec& cluster) {
  if (cluster.nodes.size() != 1) return 0;
  const int node = type_of(cluster, cluster.nodes.front()).devices;
  const bool within_nodes =
      std::all_of(cluster.levels.begin(), cluster.levels.end(),
                  [&](const LinkLevel& level) { return level.devices <= node; });
  return within_nodes ? node : 0;
}

void add_distinct(std::vector<Collective>& all, Collective one) {
  if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(std::move(one));
}

}  // namespace

bool first_stage_knows_links(const ClusterSpec& cluster) { return period_of(cluster) > 0; }

std::vector<int> ranks_of(const Plan& plan, const std::vector<int>& stages) {
  std::vector<int> ranks;
  ranks.reserve(stages.size());
  for (const int stage : stages) ranks.push_back(plan.rank_of(stage));
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

std::vector<int> in_all_copies(const Plan& plan, int stage) {
  std::vector<int> stages;
  stages.reserve(static_cast<std::size_t>(plan.copies()));
  for (int copy = 0; copy < plan.copies(); ++copy) {
    stages.push_back(copy * plan.stages_per_copy() + stage);
  }
  return stages;
}

struct PlanWiring::KnownTies {
  std::mutex mutex;
  std::map<std::vector<int>, std::vector<Collective>> groups;  // by ranks
};

PlanWiring::PlanWiring(const ClusterSpec& cluster, const Plan& plan, WiredStages wired)
    : plan_(plan),
      places_(cluster, plan),
      inner_ranks_(places_.distinct_inner_ranks()),
      tensor_ranks_(
          inner_ranks_.begin(),
          inner_ranks_.begin() + std::min<std::ptrdiff_t>(plan.tensor, std::ssize(inner_ranks_))),
      known_ties_(std::make_shared<KnownTies>()) {
  if (wired == WiredStages::kFirst) {
    find_weight_groups(1);
    if (first_stage_knows_links(cluster)) find_links();
    return;
  }
  all_devices_.group = group_shape(places_.layout(), places_.all_devices());
  find_links();
  find_weight_groups(plan_.stages_per_copy());
}

void PlanWiring::find_links() {
  links_.reserve(static_cast<std::size_t>(plan_.listed_ranks()));
  for (int kind = 0; kind < plan_.kinds(); ++kind) {
    for (int rank = 0; rank < plan_.pipeline; ++rank) {
      const int next = (rank + 1) % plan_.pipeline;
      links_.push_back(plan_.has_unequal_replicas() ? link_in_kind(rank, next, kind)
                                                    : link_between(rank, next));
    }
  }
}

void PlanWiring::find_weight_groups(int stages) {
  for (auto* groups : {&weight_groups_, &shard_groups_, &same_shard_groups_, &expert_groups_,
                       &expert_shard_groups_, &same_expert_shard_groups_}) {
    groups->resize(static_cast<std::size_t>(plan_.pipeline));
  }
  if (plan_.weight_copies() == 1) return;
  // Groups that begin at the same place of a node, and whose devices lie as far apart, lie alike.
  const int period = plan_.has_unequal_replicas() || plan_.copies() > 1 ? 0 : period_of(cluster());
  std::vector<int> first_at(static_cast<std::size_t>(period), -1);  // by place: such a rank
  for (int stage = 0; stage < stages; ++stage) {
    const std::vector<int> ranks = ranks_of(plan_, in_all_copies(plan_, stage));
    auto& groups = weight_groups_[static_cast<std::size_t>(ranks.front())];
    if (groups.empty() && period > 0) {
      int& like = first_at[static_cast<std::size_t>(places_.device_of(ranks[0], 0, 0) % period)];
      if (like < 0) {
        like = ranks[0];
      } else {
        groups = weight_groups_[static_cast<std::size_t>(like)];
      }
    }
    if (groups.empty()) groups = groups_of_all_replicas(ranks);
    if (plan_.shard_group > 0) find_shard_groups(ranks);
    if (plan_.has_expert_grid()) find_expert_groups(ranks);
  }
}

std::vector<int> PlanWiring::holders(const std::vector<int>& ranks, int tensor_rank) const {
  std::vector<int> devices;
  devices.reserve(static_cast<std::size_t>(plan_.data * plan_.context) * ranks.size());
  for (int d = 0; d < plan_.data; ++d) {
    for (int c = 0; c < plan_.context; ++c) {
      for (const int rank : ranks) {
        devices.push_back(places_.device_of(rank, d, c * plan_.tensor + tensor_rank));
      }
    }
  }
  return devices;
}

// Holders in the order of replicas: each group is consecutive ones, and the same place of every
// group holds the same shard.
void PlanWiring::find_shard_groups(const std::vector<int>& ranks) {
  const auto rank = static_cast<std::size_t>(ranks.front());
  if (!shard_groups_[rank].empty()) return;
  for (const int t : tensor_ranks_) {
    const std::vector<int> all = holders(ranks, t);
    const std::size_t size = static_cast<std::size_t>(plan_.shard_group);
    const std::size_t groups = all.size() / size;
    for (std::size_t g = 0; g < groups; ++g) {
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(g * size);
      add_distinct(shard_groups_[rank], one_of_many({first, first + plan_.shard_group}, ranks));
    }
    for (std::size_t shard = 0; groups > 1 && shard < size; ++shard) {
      std::vector<int> same;
      for (std::size_t g = 0; g < groups; ++g) same.push_back(all[g * size + shard]);
      add_distinct(same_shard_groups_[rank], one_of_many(same, ranks));
    }
  }
}

// Of the devices of a stage, in the order of replicas and inner ranks, every EP ETP hold all
// experts: those that lie as many apart hold the same. Where domains hold whole groups all experts
// lie alike.
void PlanWiring::find_expert_groups(const std::vector<int>& ranks) {
  const auto rank = static_cast<std::size_t>(ranks.front());
  if (!expert_groups_[rank].empty()) return;
  const int apart = plan_.expert_ranks(), inner = plan_.devices_per_rank();
  const int blocks = plan_.data * inner / apart, in_shards = plan_.expert_shards();
  const int in_blocks = plan_.shard_group > 0 ? in_shards : blocks;
  for (int place = 0; place < (inner_ranks_.size() == 1 ? 1 : apart); ++place) {
    std::vector<int> all;
    for (int block = 0; block < blocks; ++block) {
      const int index = block * apart + place;
      for (const int of : ranks) {
        all.push_back(places_.device_of(of, index / inner, index % inner));
      }
    }
    if (plan_.shard_group > 0 && in_blocks < blocks) {
      for (int first = 0; first + in_blocks <= blocks; first += in_blocks) {
        const auto at = all.begin() + first;
        add_distinct(expert_shard_groups_[rank], one_of_many({at, at + in_blocks}, ranks));
      }
      for (int shard = 0; shard < in_blocks; ++shard) {
        std::vector<int> same;
        for (int block = shard; block < blocks; block += in_blocks) {
          same.push_back(all[static_cast<std::size_t>(block)]);
        }
        add_distinct(same_expert_shard_groups_[rank], one_of_many(same, ranks));
      }
    }
    std::sort(all.begin(), all.end());
    add_distinct(expert_groups_[rank], one_of_many(all, ranks));
    if (plan_.shard_group > 0 && in_blocks >= blocks) {
      add_distinct(expert_shard_groups_[rank], one_of_many(all, ranks));
    }
  }
}

// Replicas that are alike lie a number of devices apart: once that has come round to the same place
// of a node, pairs repeat. A run of pairs that leave one node is no longer than a round, so that
// two rounds have all of them.
template <class Visit>
void PlanWiring::for_each_pair(int rank, int next, Visit visit) const {
  int replicas = plan_.data;
  const int period = plan_.has_unequal_replicas() ? 0 : period_of(cluster());
  if (period > 0 && replicas > 1) {
    const int apart = places_.device_of(rank, 1, 0) - places_.device_of(rank, 0, 0);
    replicas = std::min(replicas, 2 * (period / std::gcd(period, apart)));
  }
  for (int d = 0; d < replicas; ++d) {
    for (const int i : inner_ranks_) {
      visit(places_.device_of(rank, d, i), places_.device_of(next, d, i));
    }
  }
}

RankLink PlanWiring::link_between(int rank, int next) const {
  RankLink link;
  if (rank == next) return link;
  const DeviceLayout& layout = places_.layout();
  link.from_type = layout.type_of(places_.device_of(rank, 0, 0));
  link.to_type = layout.type_of(places_.device_of(next, 0, 0));
  for_each_pair(rank, next, [&](int from, int to) {
    link.level = std::max(link.level, layout.level_between(from, to));
  });
  if (link.level == 0) return link;
  const int senders =
      plan_.devices_per_rank() / static_cast<int>(inner_ranks_.size());  // that one stands for
  LongestRun there, back;
  for_each_pair(rank, next, [&](int from, int to) {
    if (layout.level_between(from, to) != link.level) return;
    there.add(layout.domain(link.level - 1, from), senders);
    back.add(layout.domain(link.level - 1, to), senders);
  });
  link.flows_there = there.longest();
  link.flows_back = back.longest();
  return link;
}

// Replicas of other kinds leave the same domains, so they count among the flows.
RankLink PlanWiring::link_in_kind(int rank, int next, int kind) const {
  RankLink link;
  if (rank == next) return link;
  const DeviceLayout& layout = places_.layout();
  const auto types = [&](int from, int to) {
    return std::pair(layout.type_of(from), layout.type_of(to));
  };
  int replica = 0;
  while (kind_of_replica(plan_, replica) != kind) ++replica;
  const auto own = types(places_.device_of(rank, replica, 0), places_.device_of(next, replica, 0));
  link.from_type = own.first;
  link.to_type = own.second;
  for_each_pair(rank, next, [&](int from, int to) {
    if (types(from, to) != own) return;
    link.level = std::max(link.level, layout.level_between(from, to));
  });
  if (link.level == 0) return link;
  std::map<int, int> there, back;  // devices by domain of the level below
  const int senders = plan_.devices_per_rank() / static_cast<int>(inner_ranks_.size());
  for_each_pair(rank, next, [&](int from, int to) {
    if (layout.level_between(from, to) != link.level) return;
    there[layout.domain(link.level - 1, from)] += senders;
    back[layout.domain(link.level - 1, to)] += senders;
  });
  for_each_pair(rank, next, [&](int from, int to) {
    if (types(from, to) != own || layout.level_between(from, to) != link.level) return;
    link.flows_there = std::max(link.flows_there, there[layout.domain(link.level - 1, from)]);
    link.flows_back = std::max(link.flows_back, back[layout.domain(link.level - 1, to)]);
  });
  return link;
}

std::vector<Collective> PlanWiring::groups_of_all_replicas(const std::vector<int>& ranks) const {
  std::vector<Collective> groups;
  for (const int t : tensor_ranks_) {
    std::vector<int> devices = holders(ranks, t);
    std::sort(devices.begin(), devices.end());
    add_distinct(groups, one_of_many(devices, ranks));
  }
  return groups;
}

// All such groups reduce at the same time, so in a domain of the level below the outermost one
// every device belongs to a group that sends.
Collective PlanWiring::one_of_many(const std::vector<int>& devices,
                                   const std::vector<int>& ranks) const {
  Collective one{group_shape(places_.layout(), devices), 1};
  if (one.group.levels.empty()) return one;
  const int below = static_cast<int>(one.group.levels.size()) - 2;
  const GroupLevel& top = one.group.levels.back();
  const int together = std::min(top.beside, places_.devices_beside(ranks, below));
  one.rings = std::max(together / top.members, 1);
  return one;
}

// Most devices of one pipeline rank, over its replicas and tensor ranks, in a domain of the level.
int PlanWiring::most_in_one_domain(int rank, int level) const {
  int most = 0, here = 0, domain = -1;
  for (int d = 0; d < plan_.data; ++d) {
    for (int i = 0; i < plan_.devices_per_rank(); ++i) {
      const int of_device = places_.layout().domain(level, places_.device_of(rank, d, i));
      if (of_device != domain) here = 0;
      domain = of_device;
      most = std::max(most, ++here);
    }
  }
  return most;
}

std::vector<Collective> PlanWiring::tied_groups(const std::vector<int>& ranks) const {
  if (ranks.size() < 2) return {};
  {
    const std::scoped_lock lock(known_ties_->mutex);
    const auto known = known_ties_->groups.find(ranks);
    if (known != known_ties_->groups.end()) return known->second;
  }
  std::vector<Collective> groups = find_tied_groups(ranks);
  const std::scoped_lock lock(known_ties_->mutex);
  return known_ties_->groups.try_emplace(ranks, std::move(groups)).first->second;
}

std::vector<Collective> PlanWiring::find_tied_groups(const std::vector<int>& ranks) const {
  std::vector<Collective> groups;
  std::vector<int> devices(ranks.size());
  for (int d = 0; d < plan_.data; ++d) {
    for (const int inner : inner_ranks_) {
      for (std::size_t i = 0; i < ranks.size(); ++i) {
        devices[i] = places_.device_of(ranks[i], d, inner);
      }
      std::sort(devices.begin(), devices.end());
      add_distinct(groups, {group_shape(places_.layout(), devices), 1});
    }
  }
  for (Collective& each : groups) {
    const int below = static_cast<int>(each.group.levels.size()) - 2;
    for (const int rank : ranks) each.rings = std::max(each.rings, most_in_one_domain(rank, below));
  }
  return groups;
}

}  // namespace penstock
