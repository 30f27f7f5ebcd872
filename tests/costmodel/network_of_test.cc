// Wires and routes of a cluster small enough to draw.
#include "costmodel/network_of.h"

#include <string>

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "tests/costmodel/clusters.h"

namespace penstock {
namespace {

// Chains of `ranks` stages, one pipeline per replica.
Program chains(int ranks, int replicas) {
  Program program;
  for (int d = 0; d < replicas; ++d) {
    Pipeline pipeline;
    pipeline.first_rank = pipeline.first_stage = d * ranks;
    pipeline.ranks = pipeline.stages = ranks;
    program.pipelines.push_back(pipeline);
    for (int s = 0; s < ranks; ++s) {
      Stage stage;
      stage.rank = RankId{d * ranks + s};
      stage.pipeline = d;
      const auto id = static_cast<std::uint16_t>(d * ranks + s);
      if (s > 0) stage.previous = StageId{static_cast<std::uint16_t>(id - 1)};
      if (s + 1 < ranks) stage.next = StageId{static_cast<std::uint16_t>(id + 1)};
      program.stages.push_back(stage);
    }
  }
  return program;
}

Plan plan_of(int pipeline, int data, int tensor) {
  Plan plan;
  plan.device = "gpu";
  plan.pipeline = pipeline;
  plan.data = data;
  plan.tensor = tensor;
  return plan;
}

// "device 0 to nvlink 300; device 1 from nvlink 300": names and GB/s, "2x" for two flows.
std::string text_of(const Network& network, std::uint32_t route) {
  if (route == kNoRoute) return "none";
  std::string text;
  for (const Hop& hop : network.routes[route].hops) {
    const NetworkLink& link = network.links[hop.link];
    if (!text.empty()) text += "; ";
    if (hop.flows > 1) text += std::to_string(hop.flows) + "x ";
    text += link.name + ' ' + std::to_string(static_cast<int>(link.capacity.value / 1e9));
  }
  return text;
}

// Devices 0..7 | 8..15. P = 9, so that stage 7 -> 8 crosses the nodes.
TEST_CASE("inside a node a transfer passes two wires, between nodes also what a node shares") {
  const ClusterSpec cluster = eight_per_node(2);
  const Network network = network_of(cluster, plan_of(9, 1, 1), chains(9, 1));
  CHECK(text_of(network, network.activation[0]) ==
        "device 0 to nvlink 300; device 1 from nvlink 300");
  CHECK(text_of(network, network.gradient[1]) ==
        "device 0 from nvlink 300; device 1 to nvlink 300");
  CHECK(
      text_of(network, network.activation[7]) ==
      "device 7 to efa 12; device 8 from efa 12; devices 0-7 to efa 50; devices 8-15 from efa 50");
  CHECK(
      text_of(network, network.gradient[8]) ==
      "device 7 from efa 12; device 8 to efa 12; devices 0-7 from efa 50; devices 8-15 to efa 50");
  CHECK(text_of(network, network.activation[8]) == "none");
  CHECK(text_of(network, network.gradient[0]) == "none");
  CHECK(network.routes[network.activation[0]].latency == us(10));
  CHECK(network.routes[network.activation[7]].latency == us(30));
}

// P = 2, D = 2, T = 4: replica 1 is devices 8..15, its ranks 8..11 and 12..15. With the replicas
// inner instead, rank 0 is devices 0..7 and replica 1 sends 4..7 -> 12..15.
TEST_CASE("the devices of a tensor-parallel rank send side by side") {
  const ClusterSpec cluster = eight_per_node(2);
  Plan plan = plan_of(2, 2, 4);
  const Network inside = network_of(cluster, plan, chains(2, 2));
  CHECK(inside.routes[inside.activation[2]].hops.size() == 8);
  CHECK(text_of(inside, inside.activation[2]).starts_with("device 8 to nvlink 300; device 9 to"));
  plan.placement = Placement::kDataInner;
  const Network across = network_of(cluster, plan, chains(2, 2));
  const std::string text = text_of(across, across.activation[2]);
  CHECK(text.starts_with("device 4 to efa 12; device 5 to efa 12"));
  CHECK(text.ends_with("4x devices 0-7 to efa 50; 4x devices 8-15 from efa 50"));
  // 125 kB at 12.5 GB/s, which is also a quarter of 50: 10 us after 30 us.
  CHECK(time_alone(cluster, across.routes[across.activation[2]], Bytes{125'000}) == us(40));
}

// 1 MB in 100 us, 3 MB in 180 us: 60 us before the first byte, then 25 GB/s; at most 3 MB / 180 us.
TEST_CASE("a curve tells latency and capacity") {
  ClusterSpec cluster = eight_per_node(1);
  cluster.levels.pop_back();
  cluster.levels[0].curve = {{Bytes{1'000'000}, us(100)}, {Bytes{3'000'000}, us(180)}};
  cluster.levels[0].bandwidth = {};
  const Network network = network_of(cluster, plan_of(2, 1, 1), chains(2, 1));
  CHECK(network.routes[network.activation[0]].latency == us(60));
  CHECK(text_of(network, network.activation[0]) ==
        "device 0 to nvlink 16; device 1 from nvlink 16");
}

TEST_CASE("three levels: the way leads through every domain") {
  ClusterSpec cluster = eight_per_node(4);  // pairs of nodes form a rack
  LinkLevel rack = cluster.levels[1];
  rack.name = "rack";
  rack.devices = 16;
  cluster.levels.insert(cluster.levels.begin() + 1, rack);
  cluster.levels[2].shared_bandwidth = {80e9};
  const Network network = network_of(cluster, plan_of(17, 1, 1), chains(17, 1));
  CHECK(text_of(network, network.activation[15]) ==
        "device 15 to rack 12; device 16 from rack 12; devices 8-15 to rack 50; devices 16-23 from "
        "rack 50; devices 0-15 to efa 80; devices 16-31 from efa 80");
}

TEST_CASE("a program that is not the plan's is our own bug") {
  CHECK_THROWS_AS((void)network_of(eight_per_node(1), plan_of(2, 2, 1), chains(2, 1)), Error);
}

}  // namespace
}  // namespace penstock
