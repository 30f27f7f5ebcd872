#include "core/values/cluster.h"

#include <cstddef>

namespace penstock {

const NodeType& type_of(const ClusterSpec& cluster, const NodeGroup& group) {
  return cluster.node_types[static_cast<std::size_t>(group.node_type)];
}

const DeviceType* find_device_type(const ClusterSpec& cluster, const std::string& name) {
  for (const DeviceType& type : cluster.device_types) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

int device_count(const ClusterSpec& cluster) {
  int devices = 0;
  for (const NodeGroup& group : cluster.nodes) {
    devices += group.count * type_of(cluster, group).devices;
  }
  return devices;
}

PriceFactors factors_for(const ClusterSpec& cluster, const std::string& device) {
  const auto& calibration = cluster.calibration;
  return calibration && calibration->device == device ? calibration->factors : PriceFactors{};
}

}  // namespace penstock
