#include "costmodel/device_layout.h"

#include <doctest/doctest.h>

#include "tests/costmodel/clusters.h"

namespace penstock {
namespace {

// Node groups {nodes, devices per node} and how many devices each level but the last joins.
ClusterSpec nodes_of(const std::vector<std::pair<int, int>>& groups,
                     const std::vector<int>& levels) {
  ClusterSpec cluster = eight_per_node(1);
  cluster.node_types.clear();
  cluster.nodes.clear();
  for (const auto& [count, devices] : groups) {
    cluster.nodes.push_back({static_cast<int>(cluster.node_types.size()), count});
    cluster.node_types.push_back({"node", 0, devices});
  }
  cluster.levels.assign(levels.size() + 1, cluster.levels.back());
  for (std::size_t l = 0; l < levels.size(); ++l) cluster.levels[l].devices = levels[l];
  return cluster;
}

// "0000 1111": the domain of every device.
std::string domains(const ClusterSpec& cluster, int level) {
  const DeviceLayout layout(cluster);
  std::string text;
  for (int d = 0; d < device_count(cluster); ++d) {
    text += std::to_string(layout.domain(level, d));
    const int size = layout.domain_size(level, d);
    int counted = 0, end = 0;
    for (int o = 0; o < device_count(cluster); ++o) {
      if (layout.domain(level, o) != layout.domain(level, d)) continue;
      ++counted;
      end = o + 1;
    }
    CHECK(size == counted);
    CHECK(layout.end_of_domain(level, d) == end);
  }
  return text;
}

TEST_CASE("even nodes: so many consecutive devices, within a node and over several") {
  const ClusterSpec cluster = nodes_of({{4, 4}}, {2, 4, 8});
  CHECK(domains(cluster, 0) == "0011223344556677");
  CHECK(domains(cluster, 1) == "0000111122223333");
  CHECK(domains(cluster, 2) == "0000000011111111");
  CHECK(domains(cluster, 3) == "0000000000000000");
}

TEST_CASE("a level as wide as the largest node makes every node a domain of its own") {
  CHECK(domains(nodes_of({{2, 8}, {3, 4}}, {8}), 0) == "0000000011111111222233334444");
  CHECK(domains(nodes_of({{3, 4}, {1, 8}}, {8}), 0) == "00001111222233333333");
}

TEST_CASE("a level inside the node divides every node for itself") {
  // Nodes of six in fours: 4 + 2. No domain reaches into the next node.
  CHECK(domains(nodes_of({{2, 6}, {1, 4}}, {4}), 0) == "0000112222334444");
}

TEST_CASE("a level beyond the node takes up whole nodes, as many as fit") {
  // 8 + 4 fit into 12, then 4 + 4 + 4, then one of 8 alone.
  CHECK(domains(nodes_of({{1, 8}, {4, 4}, {1, 8}}, {8, 12}), 1) ==
        "00000000"
        "0000"
        "111111111111"
        "22222222");
  // Single devices in racks of three, the last rack not full.
  CHECK(domains(nodes_of({{8, 1}}, {3}), 0) == "00011122");
}

TEST_CASE("domains further out are made of those further in") {
  // Twelves: 8 | 8 + 4 | 4. Packing nodes into 24 would cut the second of them.
  const ClusterSpec cluster = nodes_of({{2, 8}, {2, 4}}, {8, 12, 24});
  CHECK(domains(cluster, 1) == "000000001111111111112222");
  CHECK(domains(cluster, 2) == "000000000000000000000000");
  const ClusterSpec more = nodes_of({{2, 8}, {5, 4}}, {8, 12, 24});
  CHECK(domains(more, 1) ==
        "00000000"
        "111111111111"
        "222222222222"
        "3333");
  CHECK(domains(more, 2) ==
        "00000000"
        "000000000000"
        "111111111111"
        "1111");
}

TEST_CASE("uneven nodes: the level between two devices, and which levels keep to a node") {
  const DeviceLayout layout(nodes_of({{2, 8}, {3, 4}}, {8}));
  CHECK(layout.level_between(0, 7) == 0);
  CHECK(layout.level_between(16, 19) == 0);
  CHECK(layout.level_between(19, 20) == 1);  // one domain, if devices were counted in eights
  CHECK(layout.level_between(15, 16) == 1);
  CHECK(layout.is_within_nodes(-1));
  CHECK(layout.is_within_nodes(0));
  CHECK_FALSE(layout.is_within_nodes(1));
  CHECK(layout.holds_groups_of(4));
  CHECK_FALSE(layout.holds_groups_of(8));
}

}  // namespace
}  // namespace penstock
