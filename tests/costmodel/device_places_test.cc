#include "costmodel/device_places.h"

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "tests/costmodel/clusters.h"

namespace penstock {
namespace {

Plan plan_of(int pipeline, int data, int tensor) {
  Plan plan;
  plan.pipeline = pipeline;
  plan.data = data;
  plan.tensor = tensor;
  plan.device = "gpu";
  return plan;
}

// Devices 0-7 "gpu", 8-15 "old" in fours, 16-31 "gpu".
ClusterSpec two_types() {
  ClusterSpec cluster = eight_per_node(1);
  DeviceType old = cluster.device_types[0];
  old.name = "old";
  cluster.device_types.push_back(old);
  cluster.node_types.push_back({"small", 1, 4});
  cluster.nodes = {{0, 1}, {1, 2}, {0, 2}};
  return cluster;
}

TEST_CASE("the ranks of a tensor-parallel group are neighbours in both placements") {
  const ClusterSpec cluster = eight_per_node(3);
  Plan plan = plan_of(4, 3, 2);
  // (d * P + p) * T + t = (1 * 4 + 2) * 2 + 1
  CHECK(DevicePlaces(cluster, plan).device_of(2, 1, 1) == 13);
  plan.placement = Placement::kDataInner;
  // (p * D + d) * T + t = (2 * 3 + 1) * 2 + 1
  CHECK(DevicePlaces(cluster, plan).device_of(2, 1, 1) == 15);
}

TEST_CASE("a type's devices are those of its nodes, wherever they stand in the cluster") {
  const ClusterSpec cluster = two_types();
  Plan plan = plan_of(3, 4, 1);
  const DevicePlaces gpus(cluster, plan);
  CHECK(gpus.device_of(1, 2, 0) == 7);   // the 7th of its type
  CHECK(gpus.device_of(2, 2, 0) == 16);  // the 8th: behind the old ones
  plan.device = "old";
  plan.pipeline = 2;
  CHECK(DevicePlaces(cluster, plan).device_of(1, 3, 0) == 15);
}

TEST_CASE("the ranks of each type are numbered by themselves") {
  const ClusterSpec cluster = two_types();
  Plan plan = plan_of(3, 2, 2);
  set_rank_devices(plan, {"old", "gpu", "gpu"});
  const DevicePlaces inner(cluster, plan);
  CHECK(inner.device_of(0, 0, 0) == 8);
  CHECK(inner.device_of(0, 1, 1) == 11);
  CHECK(inner.device_of(1, 0, 0) == 0);
  CHECK(inner.device_of(2, 0, 1) == 3);  // beside rank 1 of its replica
  CHECK(inner.device_of(1, 1, 0) == 4);
  CHECK(inner.all_devices() == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  // A node of "gpu" holds eight devices of its two ranks; one of "old" at most four of its rank.
  CHECK(inner.devices_beside({1}, 0) == 8);
  CHECK(inner.devices_beside({0}, 0) == 4);
  CHECK(inner.devices_beside({0, 1}, 0) == 12);
  CHECK(inner.devices_beside({0}, 1) == 12);
  plan.placement = Placement::kDataInner;
  const DevicePlaces data_inner(cluster, plan);
  CHECK(data_inner.device_of(1, 1, 0) == 2);
  CHECK(data_inner.device_of(2, 0, 1) == 5);
}

TEST_CASE("one tensor rank stands for all where every node holds whole groups") {
  const ClusterSpec cluster = two_types();
  const Plan two = plan_of(2, 1, 2), three = plan_of(2, 1, 3);
  CHECK(DevicePlaces(cluster, two).distinct_inner_ranks() == std::vector<int>{0});
  CHECK(DevicePlaces(cluster, three).distinct_inner_ranks() == std::vector<int>{0, 1, 2});
}

TEST_CASE("a type that no node has is refused") {
  Plan plan = plan_of(2, 1, 1);
  set_rank_devices(plan, {"gpu", "new"});
  CHECK_THROWS_WITH_AS(DevicePlaces(two_types(), plan), "cluster 'test' has no device type 'new'",
                       Error);
}

}  // namespace
}  // namespace penstock
