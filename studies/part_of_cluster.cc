#include "studies/part_of_cluster.h"

#include <algorithm>
#include <cstddef>

#include "core/values/error.h"

namespace penstock {
namespace {

// A node of which only some GPUs are there; its host serves these.
int node_type_of(ClusterSpec& part, int whole, int devices) {
  NodeType some = part.node_types[static_cast<std::size_t>(whole)];
  some.name += " (" + std::to_string(devices) + " of " + std::to_string(some.devices) + ")";
  some.devices = devices;
  part.node_types.push_back(std::move(some));
  return static_cast<int>(part.node_types.size()) - 1;
}

int largest_node(const ClusterSpec& cluster) {
  int largest = 0;
  for (const NodeGroup& group : cluster.nodes) {
    largest = std::max(largest, type_of(cluster, group).devices);
  }
  return largest;
}

// A level that joins no more devices than the largest node stays inside the nodes
// (costmodel/device_layout.h), also where all nodes of the part are smaller: else it would join
// devices of several nodes.
void keep_within_nodes(const ClusterSpec& whole, ClusterSpec& part) {
  const int before = largest_node(whole), now = largest_node(part);
  for (LinkLevel& level : part.levels) {
    const bool is_within = level.devices > 0 && level.devices <= before;
    if (is_within) level.devices = std::min(level.devices, now);
  }
}

}  // namespace

ClusterSpec part_of_cluster(const ClusterSpec& cluster, const std::vector<std::string>& types,
                            const std::vector<int>& counts) {
  ClusterSpec part = cluster;
  part.nodes.clear();
  std::vector<int> left = counts;
  for (const NodeGroup& group : cluster.nodes) {
    const NodeType& node = type_of(cluster, group);
    const std::string& device =
        cluster.device_types[static_cast<std::size_t>(node.device_type)].name;
    const auto type = std::find(types.begin(), types.end(), device);
    if (type == types.end()) continue;
    int& wanted = left[static_cast<std::size_t>(type - types.begin())];
    const int whole = std::min(group.count, wanted / node.devices);
    if (whole > 0) part.nodes.push_back({group.node_type, whole});
    wanted -= whole * node.devices;
    if (whole == group.count || wanted == 0) continue;
    part.nodes.push_back({node_type_of(part, group.node_type, wanted), 1});
    wanted = 0;
  }
  for (std::size_t t = 0; t < types.size(); ++t) {
    if (left[t] == 0) continue;
    throw_bad_input("cluster '" + cluster.name + "' has " + std::to_string(counts[t] - left[t]) +
                    " GPUs of type " + types[t] + ", not " + std::to_string(counts[t]));
  }
  keep_within_nodes(cluster, part);
  return part;
}

}  // namespace penstock
