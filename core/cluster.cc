#include "core/cluster.h"

#include <cstddef>

namespace penstock {

int device_count(const ClusterSpec& cluster) {
  int devices = 0;
  for (const NodeGroup& group : cluster.nodes) {
    devices += group.count * cluster.node_types[static_cast<std::size_t>(group.node_type)].devices;
  }
  return devices;
}

}  // namespace penstock
