// A plan's step with links that its replicas share, worked out on paper.
#include "search/contention.h"

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "search/evaluate.h"
#include "tests/search/models.h"

namespace penstock {
namespace {

using testing::cluster_of;
using testing::Costs;
using testing::model_of_sections;

// Two replicas of two stages (F = 1 us, B = 2 us, one micro-batch each) on two nodes of two
// devices: stage 0 of both replicas on node 0, stage 1 on node 1. A boundary of 2,000 B takes 1 us
// at 2 GB/s.
struct Fixture {
  ModelProfile model = model_of_sections(std::vector<Costs>(2, Costs{1, 2, 0, 0, 0, 2000}));
  ClusterSpec cluster = cluster_of({2, 2, 1'000'000, 2e9});
  Plan plan;

  Fixture() {
    plan.pipeline = plan.data = plan.global_batch = 2;
    plan.placement = Placement::kDataInner;
    plan.device = "gpu";
    plan.cuts = {0, 1, 2};
  }
  [[nodiscard]] PlanFile file() const {
    const PlanInputs inputs{&model, &cluster, {}, std::nullopt};
    return to_plan_file(inputs, evaluate(inputs, plan));
  }
};

// Alone: F0 1 us, transfer to 2, F0 3, B0 5, transfer to 6, B0 8 us. The norm takes 3 ns: 4 B
// inside the nodes and 2 B between them.
TEST_CASE("replicas with wires of their own do not wait") {
  const Fixture f;
  const ContentionEffect effect = contention_of(f.file(), f.cluster);
  CHECK(effect.step_time_alone == Duration{8003});
  CHECK(effect.step_time == Duration{8003});
  CHECK(effect.delays.empty());
}

// A node has 2 GB/s for both: each of the two transfers takes 2 us, there and back. The norm's one
// ring in two lanes has 1 GB/s for each of them, as before: 3 ns.
TEST_CASE("replicas that share the way out of their node take longer") {
  Fixture f;
  f.cluster.levels[1].shared_bandwidth = {2e9};
  const PlanFile file = f.file();
  CHECK(file.prediction.step_time == Duration{10'003});  // prices suppose that both send at once
  const ContentionEffect effect = contention_of(file, f.cluster);
  CHECK(effect.step_time_alone == Duration{8003});
  CHECK(effect.step_time == Duration{10'003});
  // Two activations and two gradients, 1 us each. The way out of a node and the way into the other
  // are equally full; of those, the link that the cluster lists first is named.
  CHECK(effect.delays == std::vector<LinkDelay>{{"devices 0-1 to between", Duration{2000}},
                                                {"devices 0-1 from between", Duration{2000}}});
}

TEST_CASE("a cluster without enough devices is refused") {
  const Fixture f;
  CHECK_THROWS_AS((void)contention_of(f.file(), cluster_of({1, 2, 1'000'000, 2e9})), Error);
}

}  // namespace
}  // namespace penstock
