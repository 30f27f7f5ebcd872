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

PriceFactors factors_for(const ClusterSpec& cluster, const std::string& device) {
  const auto& calibration = cluster.calibration;
  return calibration && calibration->device == device ? calibration->factors : PriceFactors{};
}

}  // namespace penstock
