#include "search/local_moves.h"

#include <doctest/doctest.h>

#include "search/choose_cuts.h"
#include "simulator/schedules/schedules.h"
#include "tests/search/models.h"

namespace penstock {
namespace {

using testing::cluster_of;
using testing::Costs;
using testing::model_of_sections;
using testing::Random;

TEST_CASE("single sections move from the busiest rank while the step gets shorter") {
  // Two ranks with two chunks each; rank 1 has six of the eight sections.
  const ModelProfile model = model_of_sections(std::vector<Costs>(8, Costs{1, 2}), 1);
  const ClusterSpec cluster = cluster_of({1, 2});
  PlanInputs inputs;
  inputs.profile = &model;
  inputs.cluster = &cluster;
  Plan plan;
  plan.schedule = "interleaved";
  plan.pipeline = 2;
  plan.chunks = 2;
  plan.global_batch = 8;
  plan.device = "gpu";
  plan.cuts = {0, 1, 4, 5, 8};
  const auto step = [&](const Plan& p) { return evaluate(inputs, p).evaluation.step_time; };
  const Plan improved = improve_by_local_moves(inputs, plan);
  CHECK(improved.cuts == std::vector{0, 1, 3, 6, 8});  // 1 + 3 | 2 + 2
  Plan equal = plan;
  equal.cuts = {0, 2, 4, 6, 8};
  // 8 * 12 us of work, (P - 1)(F + B) / V of bubble; the norm takes 1 ns.
  CHECK(step(equal) == Duration{102'001});
  CHECK(step(improved) == step(equal));
  CHECK(step(plan) > step(equal));
  CHECK(improve_by_local_moves(inputs, equal) == equal);
  plan.cuts = {0, 2, 5, 7, 8};  // a local optimum, and not the best: equal cuts are a second start
  CHECK(step(plan) > step(equal));
  CHECK(improve_by_local_moves(inputs, plan) == equal);
}

TEST_CASE("moves never make a plan slower, nor one that fits too large") {
  Random random(51);
  int improved = 0;
  for (int i = 0; i < 150; ++i) {
    const ModelProfile model = testing::random_model(random, random.between(4, 12));
    const ClusterSpec cluster = testing::random_cluster(random, 2, 2);
    PlanInputs inputs;
    inputs.profile = &model;
    inputs.cluster = &cluster;
    Plan plan;
    plan.schedule = random.coin() ? "interleaved" : "looped-bfs";
    plan.pipeline = 2;
    plan.chunks = 2;
    plan.micro_batch_size = random.between(1, 2);
    plan.global_batch = random.between(1, 4) * plan.micro_batch_size * 2;
    plan.device = "gpu";
    const EvaluatedPlan before = evaluate(inputs, plan);
    const Plan moved = improve_by_local_moves(inputs, before.plan);
    if (before.why_not) {
      CHECK(moved == before.plan);
      continue;
    }
    const EvaluatedPlan after = evaluate(inputs, moved);
    CHECK_FALSE(after.why_not);
    CHECK(after.evaluation.step_time <= before.evaluation.step_time);
    Plan equal = plan;
    equal.cuts = equal_cuts(static_cast<int>(model.sections.size()), plan.stages_per_copy());
    const EvaluatedPlan split = evaluate(inputs, equal);
    if (!split.why_not) CHECK(after.evaluation.step_time <= split.evaluation.step_time);
    if (after.evaluation.step_time < before.evaluation.step_time) ++improved;
  }
  CHECK(improved > 10);
}

// Sections of one model on one or two device types, under any static schedule; recompute, ties,
// ZeRO-1, replicas of different sizes and short last micro-batches included.
TEST_CASE("replayed moves and evaluated moves end at the same plan") {
  Random random(77);
  int moved = 0, mixed = 0, over = 0;
  for (int i = 0; i < 1200; ++i) {
    const ModelProfile model = testing::also_on(
        testing::random_model(random, random.between(6, 14)), "old", random.between(2, 3));
    ClusterSpec cluster = testing::random_cluster(random, 2, 2);
    testing::add_nodes(cluster, "old", 2, 2, cluster.device_types[0].memory.count);
    PlanInputs inputs{&model, &cluster, {}, std::nullopt};
    inputs.executor.per_transfer = Duration{random.between(0, 300)};
    if (random.coin()) inputs.executor.optimizer = OptimizerGate::kPostValidation;
    Plan plan;
    plan.pipeline = 2;
    testing::set_schedule(plan, testing::random_static_kind(random), random.between(2, 3));
    plan.data = random.between(1, 2);
    plan.micro_batch_size = random.between(1, 2);
    plan.global_batch = plan.data * 4 * random.between(1, 3) + random.between(0, 1);
    plan.zero1 = random.coin();
    plan.device = "gpu";
    if (random.coin()) set_rank_devices(plan, {"gpu", "old"});
    if (plan.stages_per_copy() > static_cast<int>(model.sections.size())) continue;
    plan.cuts = equal_cuts(static_cast<int>(model.sections.size()), plan.stages_per_copy());
    const Plan slow = improve_by_evaluated_moves(inputs, plan);
    const Plan fast = improve_by_local_moves(inputs, plan);
    CHECK(fast == slow);
    const EvaluatedPlan end = evaluate(inputs, slow);
    if (end.why_not) {
      ++over;
    } else if (slow.cuts != plan.cuts) {
      ++moved;
      if (plan.is_mixed()) ++mixed;
    }
  }
  CHECK(moved > 100);
  CHECK(mixed > 50);
  CHECK(over > 100);
}

}  // namespace
}  // namespace penstock
