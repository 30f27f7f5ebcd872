// Device types keep their order in the cluster file; of one type only its own nodes count. Ranks of
// a mixed plan ask per rank, so values that depend on the device are PerRank. What a plan asks for
// and the cluster lacks is told in counts, with what there is.
#include "search/device_cluster.h"

#include <algorithm>

#include "core/values/error.h"

namespace penstock {
namespace {

const DeviceType& device_of_group(const ClusterSpec& cluster, const NodeGroup& group) {
  return cluster.device_types[static_cast<std::size_t>(type_of(cluster, group).device_type)];
}

template <class Get>
PerRank<Bytes> per_rank(const PlanDevices& devices, Get get) {
  if (devices.types.size() == 1) return get(devices.types.front());
  std::vector<Bytes> of_each;
  of_each.reserve(devices.type_of_rank.size());
  for (const int type : devices.type_of_rank) {
    of_each.push_back(get(devices.types[static_cast<std::size_t>(type)]));
  }
  return PerRank<Bytes>::of_each(std::move(of_each));
}

}  // namespace

std::vector<std::string> device_types_in_use(const ClusterSpec& cluster) {
  std::vector<std::string> names;
  for (const DeviceType& type : cluster.device_types) {
    const bool used = std::any_of(cluster.nodes.begin(), cluster.nodes.end(), [&](const auto& g) {
      return device_of_group(cluster, g).name == type.name;
    });
    if (used) names.push_back(type.name);
  }
  return names;
}

DeviceCluster device_cluster(const ClusterSpec& cluster, const std::string& device,
                             std::optional<Bytes> reserve) {
  DeviceCluster result;
  result.spec = cluster;
  for (const NodeGroup& group : cluster.nodes) {
    if (device_of_group(cluster, group).name != device) continue;
    result.node_sizes.push_back(type_of(cluster, group).devices);
    result.devices += type_of(cluster, group).devices * group.count;
    result.device = device_of_group(cluster, group);
  }
  if (result.devices == 0) {
    std::string known;
    for (const std::string& name : device_types_in_use(cluster)) known += " " + name;
    throw_bad_input("cluster '" + cluster.name + "' has no device '" + device +
                    "'; it has:" + known);
  }
  std::vector<int>& sizes = result.node_sizes;
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  result.devices_per_node = sizes.front();
  result.reserve = reserve.value_or(result.device.reserve);
  return result;
}

PerRank<Bytes> PlanDevices::memory() const {
  return per_rank(*this, [](const DeviceCluster& type) { return type.device.memory; });
}

PerRank<Bytes> PlanDevices::reserve() const {
  return per_rank(*this, [](const DeviceCluster& type) { return type.reserve; });
}

PlanDevices devices_of(const ClusterSpec& cluster, const Plan& plan, std::optional<Bytes> reserve) {
  PlanDevices devices;
  const std::vector<std::string> types = plan.device_types();
  devices.types.reserve(types.size());
  for (const std::string& type : types) {
    devices.types.push_back(device_cluster(cluster, type, reserve));
  }
  devices.type_of_rank.reserve(static_cast<std::size_t>(plan.listed_ranks()));
  for (int rank = 0; rank < plan.listed_ranks(); ++rank) {
    const auto type = std::find(types.begin(), types.end(), plan.device_of_rank(rank));
    devices.type_of_rank.push_back(static_cast<int>(type - types.begin()));
  }
  return devices;
}

std::string too_few_devices(const PlanDevices& devices, const Plan& plan) {
  for (std::size_t type = 0; type < devices.types.size(); ++type) {
    const DeviceCluster& has = devices.types[type];
    int ranks = 0, groups = 0;
    for (int rank = 0; rank < plan.listed_ranks(); ++rank) {
      if (devices.type_of_rank[static_cast<std::size_t>(rank)] != static_cast<int>(type)) continue;
      ++ranks;
      groups += replicas_of_rank(plan, rank);
    }
    const int needed = groups * plan.devices_per_rank();
    if (needed <= has.devices) continue;
    const std::string factors = plan.has_unequal_replicas() ? std::to_string(groups) + " ranks * T"
                                : plan.is_mixed() ? std::to_string(ranks) + " ranks * D * T"
                                                  : "P * D * T";
    return factors + " = " + std::to_string(needed) + " devices, but the cluster has " +
           std::to_string(has.devices) + " of type " + has.device.name;
  }
  return "";
}

PlanCluster plan_cluster(const PlanDevices& devices, std::vector<int> boundary_level) {
  const DeviceCluster& first = devices.types.front();
  PlanCluster part;
  part.name = first.spec.name;
  part.device = first.device.name;
  part.memory_per_device = first.device.memory;
  part.reserve = first.reserve;
  part.limited_from = first.device.limited_from;
  part.usd_per_hour = first.device.usd_per_hour;
  part.devices_per_node = first.devices_per_node;
  part.other_devices.reserve(devices.types.size() - 1);
  for (std::size_t type = 1; type < devices.types.size(); ++type) {
    const DeviceCluster& other = devices.types[type];
    part.other_devices.push_back({other.device.name, other.device.memory, other.reserve,
                                  other.device.usd_per_hour, other.devices_per_node});
  }
  part.levels.reserve(first.spec.levels.size());
  for (const LinkLevel& level : first.spec.levels) part.levels.push_back(level.name);
  part.boundary_level = std::move(boundary_level);
  return part;
}

}  // namespace penstock
