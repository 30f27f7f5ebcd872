// The part of a cluster that one plan may use: the nodes of one device type.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/cluster.h"
#include "core/plan.h"
#include "core/plan_file.h"

namespace penstock {

struct DeviceCluster {
  ClusterSpec spec;  // only nodes of the device type
  DeviceType device;
  Bytes reserve;  // the device type's, or what the user said
  int devices = 0;
  int devices_per_node = 1;  // of the smallest node
};

// Device types of the cluster, in file order, that have nodes.
std::vector<std::string> device_types_in_use(const ClusterSpec& cluster);

// Error{kBadInput} naming the known types when there is no such device.
DeviceCluster device_cluster(const ClusterSpec& cluster, const std::string& device,
                             std::optional<Bytes> reserve);

PlanCluster plan_cluster(const DeviceCluster& cluster, std::vector<int> boundary_level);

}  // namespace penstock
