// Devices of one type may lie in several stretches of the cluster file, so a number among those of
// a type is looked up in a sorted list of stretches. Invariant: two ranks of a plan never get one
// device, whatever its placement, since ranks of one type are numbered without gaps.
#include "costmodel/device_places.h"

#include <algorithm>
#include <numeric>

#include "core/values/error.h"

namespace penstock {

int devices_of_type(const ClusterSpec& cluster, const std::string& device) {
  int count = 0;
  for (const NodeGroup& group : cluster.nodes) {
    const NodeType& node = type_of(cluster, group);
    if (cluster.device_types[static_cast<std::size_t>(node.device_type)].name != device) continue;
    count += group.count * node.devices;
  }
  return count;
}

DevicePlaces::DevicePlaces(const ClusterSpec& cluster, const Plan& plan)
    : cluster_(cluster), plan_(plan), layout_(cluster) {
  const std::vector<std::string> names = plan.device_types();
  types_.reserve(names.size());
  for (const std::string& name : names) {
    types_.push_back({name, 0, {}});
    find_stretches(types_.back());
  }
  ranks_.reserve(static_cast<std::size_t>(plan.listed_ranks()));
  if (plan.has_unequal_replicas()) {
    place_unequal();
  } else {
    place_alike();
  }
}

int DevicePlaces::type_named(const std::string& name) const {
  int type = 0;
  while (types_[static_cast<std::size_t>(type)].name != name) ++type;
  return type;
}

void DevicePlaces::place_alike() {
  std::vector<int> ranks(types_.size());
  for (int rank = 0; rank < plan_.pipeline; ++rank) {
    const int type = type_named(plan_.device_of_rank(rank));
    ranks_.push_back({type, ranks[static_cast<std::size_t>(type)]++, 0});
  }
  for (OfRank& rank : ranks_) rank.of = ranks[static_cast<std::size_t>(rank.type)];
  for (std::size_t type = 0; type < types_.size(); ++type) {
    types_[type].groups = ranks[type] * plan_.data;
  }
}

void DevicePlaces::place_unequal() {
  for (int rank = 0; rank < plan_.listed_ranks(); ++rank) {
    ranks_.push_back({type_named(plan_.device_of_rank(rank)), 0, 0});
  }
  blocks_.assign(static_cast<std::size_t>(plan_.data),
                 std::vector<int>(static_cast<std::size_t>(plan_.pipeline)));
  const auto place = [&](int replica, int rank) {
    const int listed = kind_of_replica(plan_, replica) * plan_.pipeline + rank;
    const int type = ranks_[static_cast<std::size_t>(listed)].type;
    blocks_[static_cast<std::size_t>(replica)][static_cast<std::size_t>(rank)] =
        types_[static_cast<std::size_t>(type)].groups++;
  };
  const bool pipeline_inner = plan_.placement == Placement::kPipelineInner;
  const int outer = pipeline_inner ? plan_.data : plan_.pipeline;
  const int inner = pipeline_inner ? plan_.pipeline : plan_.data;
  for (int i = 0; i < outer; ++i) {
    for (int j = 0; j < inner; ++j) {
      place(pipeline_inner ? i : j, pipeline_inner ? j : i);
    }
  }
}

void DevicePlaces::find_stretches(OfType& type) const {
  int device = 0, of_type = 0;
  bool goes_on = false;
  for (const NodeGroup& group : cluster_.nodes) {
    const NodeType& node = type_of(cluster_, group);
    const bool mine =
        cluster_.device_types[static_cast<std::size_t>(node.device_type)].name == type.name;
    if (mine && !goes_on) type.stretches.push_back({of_type, device});
    if (mine) of_type += group.count * node.devices;
    device += group.count * node.devices;
    goes_on = mine;
  }
  if (!type.stretches.empty()) return;
  throw_bad_input("cluster '" + cluster_.name + "' has no device type '" + type.name + "'");
}

int DevicePlaces::device(const OfType& type, int index) {
  auto stretch = type.stretches.end() - 1;
  while (stretch->first_of_type > index) --stretch;
  return stretch->first_device + index - stretch->first_of_type;
}

int DevicePlaces::device_of(int rank, int replica, int inner_rank) const {
  const int inner = plan_.devices_per_rank();
  if (!blocks_.empty()) {
    const int listed = kind_of_replica(plan_, replica) * plan_.pipeline + rank;
    const OfRank& place = ranks_[static_cast<std::size_t>(listed)];
    const int block = blocks_[static_cast<std::size_t>(replica)][static_cast<std::size_t>(rank)];
    return device(types_[static_cast<std::size_t>(place.type)], block * inner + inner_rank);
  }
  const OfRank& place = ranks_[static_cast<std::size_t>(rank)];
  const OfType& type = types_[static_cast<std::size_t>(place.type)];
  const int block = plan_.placement == Placement::kPipelineInner
                        ? replica * place.of + place.position
                        : place.position * plan_.data + replica;
  return device(type, block * inner + inner_rank);
}

std::vector<int> DevicePlaces::all_devices() const {
  std::vector<int> devices;
  devices.reserve(static_cast<std::size_t>(plan_.devices()));
  for (const OfType& type : types_) {
    const int count = type.groups * plan_.devices_per_rank();
    for (int index = 0; index < count; ++index) devices.push_back(device(type, index));
  }
  if (types_.size() > 1) std::sort(devices.begin(), devices.end());
  return devices;
}

std::vector<int> DevicePlaces::distinct_inner_ranks() const {
  const int inner = plan_.devices_per_rank();
  const bool whole_groups =
      layout_.holds_groups_of(inner) &&
      std::all_of(types_.begin(), types_.end(), [&](const OfType& type) {
        return std::all_of(type.stretches.begin(), type.stretches.end(), [&](const Stretch& each) {
          return each.first_of_type % inner == 0 && each.first_device % inner == 0;
        });
      });
  std::vector<int> ranks(whole_groups ? 1 : static_cast<std::size_t>(inner));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

int DevicePlaces::devices_beside(const std::vector<int>& ranks, int level) const {
  if (types_.size() == 1 || !layout_.is_within_nodes(level)) return plan_.devices();
  std::vector<bool> counted(types_.size());
  int devices = 0;
  for (const int rank : ranks) {
    for (int listed = rank; listed < plan_.listed_ranks(); listed += plan_.pipeline) {
      const auto type = static_cast<std::size_t>(ranks_[static_cast<std::size_t>(listed)].type);
      if (!counted[type]) devices += types_[type].groups * plan_.devices_per_rank();
      counted[type] = true;
    }
  }
  return devices;
}

}  // namespace penstock
