// The plain way is the oracle: of nodes that are listed in two groups nothing is known to repeat.
#include "costmodel/plan_wiring.h"

#include <algorithm>
#include <array>

#include <doctest/doctest.h>

#include "costmodel/transfer_prices.h"
#include "tests/costmodel/clusters.h"
#include "tests/simulator/pipelines.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::Random;

// Levels within a node, between nodes, and at times parts of a node below them.
ClusterSpec random_nodes(Random& random) {
  constexpr std::array kDevices{2, 3, 4, 6, 8, 12};
  const int node = kDevices[static_cast<std::size_t>(random.between(0, 5))];
  ClusterSpec cluster = eight_per_node(random.between(2, 12));
  cluster.node_types[0].devices = node;
  cluster.levels[0].devices = node;
  LinkLevel part = cluster.levels[0];
  for (int devices = node - 1; devices > 1; --devices) {
    if (node % devices != 0 || random.coin()) continue;
    part.name = "part";
    part.devices = devices;
    cluster.levels.insert(cluster.levels.begin(), part);
    break;
  }
  return cluster;
}

Plan random_plan(Random& random, int devices) {
  constexpr std::array kTensor{1, 1, 2, 3, 4, 8};
  Plan plan;
  plan.device = "gpu";
  plan.tensor = std::min(kTensor[static_cast<std::size_t>(random.between(0, 5))], devices);
  plan.context = plan.tensor * 2 <= devices ? random.between(1, 2) : 1;
  const int groups = devices / (plan.tensor * plan.context);
  plan.pipeline = random.between(1, std::min(groups, 8));
  plan.data = random.between(1, groups / plan.pipeline);
  plan.chunks = random.between(1, 2);
  if (random.coin()) plan.placement = Placement::kDataInner;
  return plan;
}

void check_alike(const RankLink& link, const RankLink& other) {
  CHECK(link.level == other.level);
  CHECK(link.flows_there == other.flows_there);
  CHECK(link.flows_back == other.flows_back);
  CHECK(link.from_type == other.from_type);
  CHECK(link.to_type == other.to_type);
}

TEST_CASE("of nodes that are alike a round of replicas and one node tell what all of them do") {
  Random random(7);
  for (int n = 0; n < testing::draws(600); ++n) {
    CAPTURE(n);
    const ClusterSpec cluster = random_nodes(random);
    REQUIRE(first_stage_knows_links(cluster));
    ClusterSpec split = cluster;
    const int nodes = cluster.nodes[0].count, first = random.between(1, nodes - 1);
    split.nodes = {{0, first}, {0, nodes - first}};
    REQUIRE_FALSE(first_stage_knows_links(split));
    const Plan plan = random_plan(random, nodes * cluster.node_types[0].devices);
    CAPTURE(plan.pipeline);
    CAPTURE(plan.data);
    CAPTURE(plan.tensor);
    const PlanWiring wiring(cluster, plan), other(split, plan);
    for (int rank = 0; rank < plan.pipeline; ++rank) {
      CAPTURE(rank);
      check_alike(wiring.link_behind(rank), other.link_behind(rank));
      CHECK(wiring.weight_groups(rank) == other.weight_groups(rank));
    }
    check_alike(PlanWiring(cluster, plan, WiredStages::kFirst).link_behind(0),
                other.link_behind(0));
  }
}

}  // namespace
}  // namespace penstock
