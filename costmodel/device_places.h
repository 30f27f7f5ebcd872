// Which device of a cluster is (pipeline rank, replica, inner rank) of a plan; the inner rank of
// context rank c and tensor rank t is c T + t. The ranks of one
// device type are numbered by the plan's placement as if they were all there is, and that number
// counts the devices of the nodes of that type, in the order of the cluster file. Ranks of unequal
// replicas are numbered replica by replica (or rank by rank), each among those of its type.
#pragma once

#include <string>
#include <vector>

#include "core/values/cluster.h"
#include "core/values/plan.h"
#include "costmodel/device_layout.h"

namespace penstock {

// Of all nodes.
int devices_of_type(const ClusterSpec& cluster, const std::string& device);

// Keeps the cluster by reference.
class DevicePlaces {
 public:
  // Error{kBadInput} when the cluster has no nodes of a type that the plan names.
  DevicePlaces(const ClusterSpec& cluster, const Plan& plan);

  [[nodiscard]] const ClusterSpec& cluster() const { return cluster_; }
  [[nodiscard]] const DeviceLayout& layout() const { return layout_; }
  [[nodiscard]] int device_of(int rank, int replica, int inner_rank) const;
  // Of the whole plan, ascending.
  [[nodiscard]] std::vector<int> all_devices() const;
  // The inner ranks that have to be looked at: only the first when every domain holds all of a
  // rank's (then they all lie alike), else all.
  [[nodiscard]] std::vector<int> distinct_inner_ranks() const;
  // How many devices of the plan may lie in one domain of `level` that holds devices of these
  // ranks: those of the same types when domains do not reach beyond a node, else all.
  [[nodiscard]] int devices_beside(const std::vector<int>& ranks, int level) const;

 private:
  // Consecutive devices of one type.
  struct Stretch {
    int first_of_type = 0, first_device = 0;
  };
  struct OfType {
    std::string name;
    int groups = 0;  // of T C devices: its ranks in all replicas
    std::vector<Stretch> stretches;
  };
  struct OfRank {
    int type = 0, position = 0, of = 0;  // among so many ranks of the type in a replica
  };

  void find_stretches(OfType& type) const;
  [[nodiscard]] int type_named(const std::string& name) const;
  void place_alike();
  void place_unequal();
  [[nodiscard]] static int device(const OfType& type, int index);

  const ClusterSpec& cluster_;
  Plan plan_;
  DeviceLayout layout_;
  std::vector<OfType> types_;
  std::vector<OfRank> ranks_;  // of a replica; of unequal ones the listed ranks
  // Of unequal replicas [replica][rank]: where in its type.
  std::vector<std::vector<int>> blocks_;
};

}  // namespace penstock
