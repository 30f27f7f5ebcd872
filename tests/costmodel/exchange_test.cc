#include "costmodel/exchange.h"

#include <cmath>

#include <doctest/doctest.h>

#include "tests/costmodel/clusters.h"

namespace penstock {
namespace {

using namespace std::chrono_literals;

// Groups of `ranks` neighbours.
GroupShape neighbours(const ClusterSpec& cluster, int ranks) {
  return groups_apart(cluster, "gpu", ranks, 1).front();
}

double sum_of(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum;
}

ExpertTraffic eight_of(int experts) {
  ExpertTraffic traffic;
  traffic.experts = experts;
  traffic.visited = 8;
  return traffic;
}

// To the hundredth, as it is printed.
double hundredths(double value) { return std::round(value * 100.0) / 100.0; }

}  // namespace

// 32 devices on 4 nodes: of 32 equal parts 7 stay in the node, 24 leave it, one is a device's own.
TEST_CASE("of equal parts those for other devices leave, each over its level") {
  const GroupShape group = neighbours(eight_per_node(4), 32);
  CHECK(devices_by_level(group) == std::vector<int>{8, 32});
  CHECK(equal_parts(group, {3200}) == std::vector<double>{700.0, 2400.0});
}

TEST_CASE("a copy for each of K experts: K less those of the rank itself") {
  ExpertTraffic traffic = eight_of(128);
  traffic.once = false;
  const auto copies = copies_by_level(neighbours(eight_per_node(2), 16), traffic);
  CHECK(copies == std::vector<double>{8.0 * 7 / 16, 8.0 * 8 / 16});
}

// Ep (1 - C(E - E/Ep, K) / C(E, K)): 7.68 of 64 ranks for 256 experts, 6.60 of 16 for 128. Here all
// ranks but a token's own are in the node, so (Ep - 1) / Ep of them are sent to.
TEST_CASE("a token goes once to each rank that has one of its experts") {
  ClusterSpec one_node = eight_per_node(1);
  one_node.nodes.front().count = 8;
  one_node.node_types.front().devices = 64;
  for (LinkLevel& level : one_node.levels) level.devices = 0;
  one_node.levels.resize(1);
  const auto ranks = [&](int ep, int experts) {
    const auto copies = copies_by_level(neighbours(one_node, ep), eight_of(experts));
    return hundredths(sum_of(copies) * ep / (ep - 1));
  };
  CHECK(ranks(64, 256) == 7.68);
  CHECK(ranks(16, 128) == 6.60);
}

// Of 8 nodes a token visits 8 (1 - C(224, 8) / C(256, 8)) = 5.29 or, where its experts are on 4,
// 4 (1 - C(96, 8) / C(128, 8)) = 3.63; seven eighths of those are other nodes.
TEST_CASE("a router that keeps a token to few nodes sends less over the network") {
  const GroupShape group = neighbours(eight_per_node(8), 64);
  ExpertTraffic traffic = eight_of(256);
  const double any = copies_by_level(group, traffic)[1];
  traffic.most_nodes = 4;
  const double few = copies_by_level(group, traffic)[1];
  CHECK(hundredths(any * 8 / 7) == 5.29);
  CHECK(hundredths(few * 8 / 7) == 3.63);
}

// 300 GB/s inside, 50 GB/s for the 8 devices of a node: 3 MB in 10 us and 10 us of latency, 2.5 MB
// at 6.25 GB/s in 400 us and 30; both flow at once.
TEST_CASE("levels work at the same time, and all devices of a node share its way out") {
  const ClusterSpec cluster = eight_per_node(2);
  const GroupShape group = neighbours(cluster, 16);
  CHECK(exchange_time(cluster, group, {3e6, 0.0}) == 20us);
  CHECK(exchange_time(cluster, group, {3e6, 2.5e6}) == 430us);
}

TEST_CASE("the busiest rank is waited for, and no faster link takes longer") {
  ClusterSpec cluster = eight_per_node(2);
  ExpertTraffic traffic = eight_of(128);
  const ExpertGroups groups(cluster, "gpu", 1, {1, 16, 0});
  CHECK(groups.level() == 1);
  const Duration even = groups.time(traffic, {8'000'000});
  traffic.imbalance = 1.5;
  const Duration uneven = groups.time(traffic, {8'000'000});
  CHECK(uneven > even);
  for (LinkLevel& level : cluster.levels) {
    level.bandwidth.value *= 2.0;
    level.shared_bandwidth.value *= 2.0;
  }
  const Duration faster = ExpertGroups(cluster, "gpu", 1, {1, 16, 0}).time(traffic, {8'000'000});
  CHECK(faster < uneven);
}

TEST_CASE("without experts of others there is nothing to send") {
  const ExpertGroups groups(eight_per_node(1), "gpu", 2, {});
  CHECK(groups.level() == -1);
  CHECK(groups.time(ExpertTraffic{}, {1'000'000}) == 0us);
}

}  // namespace penstock
