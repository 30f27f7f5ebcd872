#include "search/device_cluster.h"

#include <algorithm>

#include "core/error.h"

namespace penstock {
namespace {

const NodeType& type_of(const ClusterSpec& cluster, const NodeGroup& group) {
  return cluster.node_types[static_cast<std::size_t>(group.node_type)];
}
const DeviceType& device_of_group(const ClusterSpec& cluster, const NodeGroup& group) {
  return cluster.device_types[static_cast<std::size_t>(type_of(cluster, group).device_type)];
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
  result.spec.nodes.clear();
  for (const NodeGroup& group : cluster.nodes) {
    if (device_of_group(cluster, group).name != device) continue;
    const int per_node = type_of(cluster, group).devices;
    result.devices_per_node =
        result.devices == 0 ? per_node : std::min(result.devices_per_node, per_node);
    result.devices += per_node * group.count;
    result.device = device_of_group(cluster, group);
    result.spec.nodes.push_back(group);
  }
  if (result.devices == 0) {
    std::string known;
    for (const std::string& name : device_types_in_use(cluster)) known += " " + name;
    throw_bad_input("cluster '" + cluster.name + "' has no device '" + device +
                    "'; it has:" + known);
  }
  result.reserve = reserve.value_or(result.device.reserve);
  return result;
}

PlanCluster plan_cluster(const DeviceCluster& cluster, std::vector<int> boundary_level) {
  PlanCluster part;
  part.name = cluster.spec.name;
  part.device = cluster.device.name;
  part.memory_per_device = cluster.device.memory;
  part.reserve = cluster.reserve;
  part.usd_per_hour = cluster.device.usd_per_hour;
  part.devices_per_node = cluster.devices_per_node;
  for (const LinkLevel& level : cluster.spec.levels) part.levels.push_back(level.name);
  part.boundary_level = std::move(boundary_level);
  return part;
}

}  // namespace penstock
