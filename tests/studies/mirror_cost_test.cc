#include "studies/mirror_cost.h"

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "tests/search/models.h"

namespace penstock {
namespace {

using testing::cluster_of;
using testing::Costs;
using testing::model_of_sections;

// fp32 weights and two moments.
ModelProfile model_of(const std::vector<std::int64_t>& parameters) {
  std::vector<Costs> sections;
  for (const std::int64_t count : parameters) {
    Costs costs;
    costs.parameters = count;
    sections.push_back(costs);
  }
  ModelProfile model = model_of_sections(sections);
  model.training.bytes_per_parameter = {4};
  model.training.optimizer_bytes_per_parameter = {8};
  return model;
}

Plan plan_of(int pipeline, int data, std::vector<int> cuts) {
  Plan plan;
  plan.pipeline = pipeline;
  plan.data = data;
  plan.device = "gpu";
  plan.cuts = std::move(cuts);
  return plan;
}

// 1e9 parameters, D = 4: 12e9 / 4 bytes at 12.5e9 B/s take 0.24 s.
TEST_CASE("replicas share what each of them sends") {
  const MirrorCost cost = mirror_cost(model_of({1'000'000'000}),
                                      cluster_of({4, 1, 1'000'000, 12.5e9}), plan_of(1, 4, {0, 1}));
  CHECK(cost.time == std::chrono::milliseconds(240));
  CHECK(cost.sent == Bytes{3'000'000'000});
  CHECK(cost.host_memory == Bytes{12'000'000'000});
}

// Stages of 1, 3, 2 and 2 million parameters on two nodes of two: every copy leaves its node. The
// second rank sends 36 MB at 1 GB/s. It keeps the copy of the fourth: 2 (36 + 24) MB.
TEST_CASE("the largest part decides, and devices of a node share its way out") {
  const ModelProfile model = model_of({1'000'000, 3'000'000, 2'000'000, 2'000'000});
  ClusterSpec cluster = cluster_of({2, 2, 1'000'000, 1e9});
  const Plan plan = plan_of(4, 1, {0, 1, 2, 3, 4});
  MirrorCost cost = mirror_cost(model, cluster, plan);
  CHECK(cost.time == std::chrono::milliseconds(36));
  CHECK(cost.rank == 1);
  CHECK(cost.sent == Bytes{36'000'000});
  CHECK(cost.host_memory == Bytes{120'000'000});
  // Two messages share 1 GB/s.
  cluster.levels[1].shared_bandwidth = {1e9};
  cost = mirror_cost(model, cluster, plan);
  CHECK(cost.time == std::chrono::milliseconds(72));
}

TEST_CASE("one rank has nobody to mirror to") {
  CHECK_THROWS_AS(mirror_cost(model_of({10}), cluster_of({1, 1}), plan_of(1, 1, {0, 1})), Error);
}

}  // namespace
}  // namespace penstock
