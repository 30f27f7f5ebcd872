// Which devices of a cluster lie together on each level. Domains follow the nodes: a level that
// joins no more devices than the largest node has divides every node for itself; one that joins
// more takes up consecutive nodes (or domains of the level below), as many as fit, at least one.
#pragma once

#include <vector>

#include "core/values/cluster.h"

namespace penstock {

class DeviceLayout {
 public:
  explicit DeviceLayout(const ClusterSpec& cluster);

  // Domains are numbered over the cluster, in the order of their devices. On level -1 every device
  // is its own domain.
  [[nodiscard]] int domain(int level, int device) const;
  // How many devices lie in the domain of `device`.
  [[nodiscard]] int domain_size(int level, int device) const;
  // The first device behind the domain of `device`.
  [[nodiscard]] int end_of_domain(int level, int device) const;
  // The innermost level that spans both.
  [[nodiscard]] int level_between(int device, int other) const;
  // The device type, as an index into the cluster's.
  [[nodiscard]] int type_of(int device) const;
  // Whether any level, or a measured collective, has values of its own for a device type.
  [[nodiscard]] bool types_differ() const { return types_differ_; }
  // Whether no domain of the level reaches beyond a node.
  [[nodiscard]] bool is_within_nodes(int level) const;
  // Whether every `count` consecutive devices, counted from device 0, lie in one domain or fill
  // several.
  [[nodiscard]] bool holds_groups_of(int count) const;

 private:
  // Equal blocks of devices, each divided into domains of `step` devices (the last of a block may
  // be smaller), from `first_device` to where the next run starts.
  struct Run {
    int first_device = 0, first_domain = 0;
    int block = 1, step = 1;
  };
  // No runs: one domain that holds all.
  struct Level {
    std::vector<Run> runs;
    bool within_nodes = false;
  };
  struct Units {
    int count = 0, size = 0;
  };

  static std::vector<Run> divided(const std::vector<Units>& units, int devices);
  static std::vector<Units> packed(const std::vector<Units>& units, int devices);
  [[nodiscard]] static const Run& run_of(const Level& level, int device);

  struct Nodes {
    int first_device = 0, type = 0;
  };

  std::vector<Level> levels_;
  std::vector<Nodes> nodes_;  // in a row, of one type
  int devices_;
  bool types_differ_;
};

}  // namespace penstock
