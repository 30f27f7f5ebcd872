#include "core/values/batch.h"

#include <random>

#include <doctest/doctest.h>

#include "core/values/plan.h"
#include "tests/watched.h"

namespace penstock {
namespace {

Plan even_plan(int data, int micro_batch_size, int samples) {
  Plan plan;
  plan.data = data;
  plan.micro_batch_size = micro_batch_size;
  plan.global_batch = samples;
  plan.sequence_length = 8;
  return plan;
}

TEST_CASE("an even batch gives the first replicas one sample more and ends in a short one") {
  // 10 samples on 3 replicas: 4, 3 and 3; in twos: 2 + 2, and twice 2 + 1.
  const Batch batch = even_batch({10, 3, 2, 8});
  CHECK(batch.shapes == std::vector<MicroBatchShape>{{2, 8, 0}, {1, 8, 0}});
  CHECK(batch.replicas == std::vector<ReplicaBatch>{{1, {{2, 0}}}, {2, {{1, 0}, {1, 1}}}});
  CHECK(samples_of(batch) == 10);
  CHECK(tokens_of(batch) == 80);
  CHECK(replica_loads(even_plan(3, 2, 10)) ==
        std::vector<ReplicaLoad>{{1, 4, 2, 2, 0}, {2, 3, 2, 1, 1}});
}

TEST_CASE("a micro-batch size above the share leaves one short micro-batch") {
  const Batch batch = even_batch({3, 1, 4, 0});
  CHECK(batch.shapes == std::vector<MicroBatchShape>{{3, 0, 0}});
  CHECK(batch.replicas == std::vector<ReplicaBatch>{{1, {{1, 0}}}});
}

TEST_CASE("tokens of encoder and decoder are counted side by side") {
  const Batch batch{{{2, 100, 30}, {1, 7, 5}}, {{3, {{2, 0}, {1, 1}}}}};
  CHECK(samples_of(batch) == 3 * 5);
  CHECK(tokens_of(batch) == 3 * (2 * 2 * 130 + 12));
}

TEST_CASE("a plan takes over a batch whose replicas are alike, or a kind for each that is not") {
  Plan plan = even_plan(1, 1, 1);
  set_batch(plan, {{{4, 16, 0}, {1, 64, 0}}, {{2, {{1, 1}, {3, 0}}}}});
  CHECK_FALSE(plan.has_unequal_replicas());
  CHECK(plan.data == 2);
  CHECK(plan.micro_batch_size == 4);
  CHECK(plan.sequence_length == 64);
  CHECK(plan.global_batch == 26);
  CHECK(tokens_per_step(plan) == 2 * (64 + 3 * 64));
  CHECK(first_load(plan).micro_batches == 4);
  CHECK_FALSE(has_equal_micro_batches(plan));

  set_batch(plan, {{{2, 5, 0}, {3, 7, 0}, {1, 9, 0}}, {{2, {{1, 1}, {1, 0}}}, {1, {{4, 2}}}}});
  CHECK(plan.replica_kinds == std::vector<ReplicaKind>{{2, 5}, {1, 4}});
  CHECK(plan.global_batch == 14);
  CHECK(samples_of_replica(plan, 2) == 4);
  CHECK(shapes_of_kind(plan, 1).first == 2);
  CHECK(shapes_of_kind(plan, 1).end == 3);
  const Plan second = plan_of_kind(plan, 1);
  CHECK(second.batch == Batch{{{1, 9, 0}}, {{1, {{4, 0}}}}});
  CHECK(second.global_batch == 4);
}

TEST_CASE("lists and counts of 2,000 random even batches say the same") {
  std::mt19937 random(14);  // NOLINT: the same draws every time
  for (int i = 0; i < testing::draws(2000); ++i) {
    const auto below = [&](unsigned n) { return 1 + static_cast<int>(random() % n); };
    Plan plan = even_plan(below(6), below(5), 0);
    plan.global_batch = plan.data - 1 + below(40);
    if (i % 3 == 0) {  // unequal replicas
      const int samples = below(20);
      plan.replica_kinds = {{plan.data, samples}, {2, below(9)}};
      plan.data += 2;
      plan.global_batch = plan.replica_kinds[0].replicas * samples +  //
                          2 * plan.replica_kinds[1].samples;
    }
    const Batch batch = batch_of(plan);
    const std::vector<ReplicaLoad> loads = replica_loads(plan);
    REQUIRE(samples_of(batch) == plan.global_batch);
    REQUIRE(tokens_of(batch) == tokens_per_step(plan));
    REQUIRE(batch.replicas.size() == loads.size());
    REQUIRE(first_load(plan) == loads.front());
    int replicas = 0;
    for (std::size_t k = 0; k < loads.size(); ++k) {
      const ReplicaLoad load = load_of(batch, batch.replicas[k]);
      REQUIRE(load.samples == loads[k].samples);
      REQUIRE(load.micro_batches == loads[k].micro_batches);
      REQUIRE(load.micro_batches == loads[k].full + (loads[k].rest > 0 ? 1 : 0));
      for (int copy = 0; copy < load.replicas; ++copy) {
        REQUIRE(samples_of_replica(plan, replicas++) == load.samples);
      }
    }
    REQUIRE(replicas == plan.data);
    if (loads.front().rest == 0) continue;
    const ShapeRun& last = batch.replicas.front().runs.back();
    REQUIRE(batch.shapes[static_cast<std::size_t>(last.shape)].samples == loads.front().rest);
  }
}

}  // namespace
}  // namespace penstock
