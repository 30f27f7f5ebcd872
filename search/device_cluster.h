// The devices that a plan may use: those of one type of a cluster, and what its ranks have.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/values/cluster.h"
#include "core/values/per_rank.h"
#include "core/values/plan.h"
#include "core/values/plan_file.h"

namespace penstock {

struct DeviceCluster {
  ClusterSpec spec;  // the whole cluster
  DeviceType device;
  Bytes reserve;  // the device type's, or what the user said
  int devices = 0;
  int devices_per_node = 1;     // of the smallest node
  std::vector<int> node_sizes;  // that occur, ascending
};

// Device types of the cluster, in file order, that have nodes.
std::vector<std::string> device_types_in_use(const ClusterSpec& cluster);

// Error{kBadInput} naming the known types when there is no such device.
DeviceCluster device_cluster(const ClusterSpec& cluster, const std::string& device,
                             std::optional<Bytes> reserve);

// What the ranks of a plan run on.
struct PlanDevices {
  std::vector<DeviceCluster> types;  // of the plan, by first listed rank
  std::vector<int> type_of_rank;     // of listed ranks: index into types
  [[nodiscard]] const DeviceCluster& of_rank(int rank) const {
    return types[static_cast<std::size_t>(type_of_rank[static_cast<std::size_t>(rank)])];
  }
  [[nodiscard]] PerRank<Bytes> memory() const;
  [[nodiscard]] PerRank<Bytes> reserve() const;
};
PlanDevices devices_of(const ClusterSpec& cluster, const Plan& plan, std::optional<Bytes> reserve);

// Why the cluster cannot hold the plan: "... but the cluster has 8 of type a100"; empty when it
// can.
std::string too_few_devices(const PlanDevices& devices, const Plan& plan);

PlanCluster plan_cluster(const PlanDevices& devices, std::vector<int> boundary_level);

}  // namespace penstock
