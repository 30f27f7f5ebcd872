#include "search/cut_replay.h"

#include <array>

#include <doctest/doctest.h>

#include "search/arranged_replay.h"
#include "search/choose_cuts.h"
#include "tests/search/models.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::Random;

// Sections of one model on one or two device types, under any static schedule and several kinds of
// executors; recompute, ties, ZeRO-1, replicas of different sizes and short last micro-batches
// included.
TEST_CASE("a plan replayed with other cuts is the plan evaluated with them") {
  Random random(77);
  int fits = 0, mixed = 0, over = 0;
  for (int i = 0; i < testing::draws(600); ++i) {
    CAPTURE(i);
    const ModelProfile model = testing::random_model_on_two(random, {6, 14}, {2, 3});
    ClusterSpec cluster = testing::random_cluster(random, 2, 2);
    testing::add_nodes(cluster, "old", 2, 2, cluster.device_types[0].memory.count);
    PlanInputs inputs{&model, &cluster, {}, std::nullopt};
    inputs.executor.per_transfer = Duration{random.between(0, 300)};
    if (random.coin()) inputs.executor.optimizer = OptimizerGate::kPostValidation;
    if (random.between(0, 3) == 0) inputs.executor.transfer = TransferMode::kSenderBlocks;
    Plan plan;
    plan.pipeline = 2;
    testing::set_schedule(plan, testing::random_static_kind(random), random.between(2, 3));
    plan.data = random.between(1, 2);
    plan.micro_batch_size = random.between(1, 2);
    plan.global_batch = plan.data * 4 * random.between(1, 3) + random.between(0, 1);
    plan.zero1 = random.coin();
    plan.device = "gpu";
    if (random.coin()) set_rank_devices(plan, {"gpu", "old"});
    const int sections = static_cast<int>(model.sections.size());
    const int stages = plan.stages_per_copy();
    if (stages > sections) continue;
    CutReplay replay(inputs, plan);
    plan.cuts = equal_cuts(sections, stages);
    for (int tries = 0; tries < 3; ++tries) {
      const auto result = replay.run(plan.cuts);
      // All of these executors are replayed rolled up, which tells the chain as well.
      CHECK(replay.knows_chains() == (replay.is_cheap() && !replay.divides()));
      if (const auto told = replay.run(plan.cuts, CutReplay::Tells::kChain)) {
        REQUIRE(result);
        CHECK(told->step_time == result->step_time);
        CHECK(told->on_chain.empty() != replay.knows_chains());
      }
      const EvaluatedPlan evaluated = evaluate(inputs, plan);
      REQUIRE(result.has_value() == !evaluated.why_not.has_value());
      if (result) {
        CHECK(result->step_time == evaluated.evaluation.step_time);
        CHECK(result->memory == evaluated.evaluation.peak_memory());
        CHECK(replay.bound(plan.cuts) <= result->step_time);
        ++(plan.is_mixed() ? mixed : fits);
      } else {
        ++over;
      }
      const auto cut = static_cast<std::size_t>(random.between(1, stages - 1));
      if (plan.cuts[cut] + 1 < plan.cuts[cut + 1]) ++plan.cuts[cut];
    }
  }
  CHECK(fits > testing::least(100));
  CHECK(mixed > testing::least(100));
  CHECK(over > testing::least(100));
}

// Prices of sections and links are taken from the plan as it was first given; on Varuna's last rank
// other cuts keep other sections.
TEST_CASE("schedules that are made from prices are replayed with other cuts as by themselves") {
  Random random(79);
  int fits = 0, mixed = 0;
  for (int i = 0; i < testing::draws(300); ++i) {
    CAPTURE(i);
    const ModelProfile model = testing::random_model_on_two(random, {4, 10}, {2, 3});
    ClusterSpec cluster = testing::random_cluster(random, 2, 2);
    testing::add_nodes(cluster, "old", 2, 2, cluster.device_types[0].memory.count);
    const PlanInputs inputs{&model, &cluster, {}, std::nullopt};
    Plan plan;
    plan.pipeline = 2;
    const std::array names{"varuna", "varuna-strict", "zb-auto", "zb-v-auto"};
    const char* name = names[static_cast<std::size_t>(random.between(0, 3))];
    const bool has_rule = name[0] == 'v';
    testing::set_schedule(plan, *find_schedule(name), name[3] == 'v' ? 2 : 1);
    plan.recompute = has_rule || random.coin() ? "full" : "none";
    plan.data = random.between(1, 2);
    plan.global_batch = plan.data * random.between(1, 6) + (has_rule ? random.between(0, 1) : 0);
    plan.device = "gpu";
    if (random.coin()) set_rank_devices(plan, {"gpu", "old"});
    const int sections = static_cast<int>(model.sections.size());
    const int stages = plan.stages_per_copy();
    CutReplay replay(inputs, plan);
    plan.cuts = equal_cuts(sections, stages);
    for (int tries = 0; tries < 3; ++tries) {
      const auto result = replay.run(plan.cuts);
      const ArrangedOutcome by_itself = replay_arranged(inputs, plan);
      REQUIRE(result.has_value() == !by_itself.why_not.has_value());
      if (result) {
        CHECK(result->step_time == by_itself.found.step_time);
        CHECK(result->memory == by_itself.found.memory);
        ++(plan.is_mixed() ? mixed : fits);
      }
      const auto cut = static_cast<std::size_t>(random.between(1, stages - 1));
      if (plan.cuts[cut] + 1 < plan.cuts[cut + 1]) ++plan.cuts[cut];
    }
  }
  CHECK(fits > testing::least(100));
  CHECK(mixed > testing::least(100));
}

}  // namespace
}  // namespace penstock
