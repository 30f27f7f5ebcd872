#include "costmodel/step_prices.h"

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "costmodel/device_places.h"
#include "tests/costmodel/clusters.h"
#include "tests/costmodel/profiles.h"

namespace penstock {
namespace {

// embedding (1000) - layer (500) - layer (500) - head (1000); 800 of embedding and head are shared.
ModelProfile tied_model() {
  ModelProfile profile;
  profile.section_types = {section_type("embedding", 1000, {}), section_type("layer", 500, {}),
                           section_type("head", 1000, {})};
  profile.sections = {{"embedding", 0}, {"layer.0", 1}, {"layer.1", 1}, {"head", 2}};
  profile.tied_weights = {{"embedding", {SectionId{0}, SectionId{3}}, {{1, 800}}}};
  profile.training.optimizer_ps_per_parameter = 17;
  return profile;
}

Plan plan_of(int pipeline, int data, std::vector<int> cuts) {
  Plan plan;
  plan.pipeline = pipeline;
  plan.data = data;
  plan.chunks = (static_cast<int>(cuts.size()) - 1) / pipeline;
  plan.cuts = std::move(cuts);
  plan.device = "gpu";
  return plan;
}

// One section of `parameters` on each of `pipeline` stages.
ModelProfile even_model(int pipeline, std::int64_t parameters) {
  return model_of(section_type("layer", parameters, {}), pipeline);
}
Plan even_plan(int pipeline, int data) {
  std::vector<int> cuts;
  for (int stage = 0; stage <= pipeline; ++stage) cuts.push_back(stage);
  return plan_of(pipeline, data, cuts);
}

StepPrices steps_of(const ModelProfile& profile, const ClusterSpec& cluster, const Plan& plan) {
  return price_steps(profile, PlanWiring(cluster, plan), plan);
}

TEST_CASE("state is bytes per parameter times parameters") {
  const StepPrices prices = steps_of(tied_model(), eight_per_node(1), plan_of(2, 1, {0, 2, 4}));
  REQUIRE(prices.step.size() == 2);
  CHECK(prices.step[0].parameters.count == 1500 * 2);
  CHECK(prices.step[0].gradients.count == 1500 * 2);
  CHECK(prices.step[0].optimizer_state.count == 1500 * 12);
  CHECK(prices.step[0].reduce_gradient.duration == Duration{});
  CHECK(prices.step[0].unshard.duration == Duration{});
}

TEST_CASE("tied weights on one stage are stored once and reduced nowhere") {
  const StepPrices prices = steps_of(tied_model(), eight_per_node(1), plan_of(1, 1, {0, 4}));
  CHECK(prices.step[0].parameters.count == (1000 + 500 + 500 + 1000 - 800) * 2);
  CHECK(prices.tied_reduce.empty());
  CHECK(prices.ties.empty());
}

TEST_CASE("tied weights on two stages are stored twice and their gradients reduced") {
  const StepPrices prices = steps_of(tied_model(), eight_per_node(1), plan_of(3, 1, {0, 1, 3, 4}));
  CHECK(prices.step[0].parameters.count == 1000 * 2);
  CHECK(prices.step[1].parameters.count == 1000 * 2);
  CHECK(prices.step[2].parameters.count == 1000 * 2);
  CHECK(prices.ties == std::vector<PlanTie>{{"embedding", {0, 2}}});
  REQUIRE(prices.tied_reduce.size() == 1);
  // 1,600 B in a ring of 2: 2 x (10 us + 800 B / 300 GB/s) = 2 x 10,002.67 ns.
  CHECK(prices.tied_reduce[0].reduce.duration.count() == 20'006);
}

TEST_CASE("a tied group of three with two together stores and reduces accordingly") {
  ModelProfile profile = model_of(section_type("layer", 100, {}), 3);
  profile.tied_weights = {{"all", {SectionId{0}, SectionId{1}, SectionId{2}}, {{1, 60}}}};
  profile.training.optimizer_ps_per_parameter = 1;
  const StepPrices prices = steps_of(profile, eight_per_node(1), plan_of(2, 1, {0, 2, 3}));
  CHECK(prices.step[0].parameters.count == (200 - 60) * 2);
  CHECK(prices.step[1].parameters.count == 100 * 2);
  CHECK(prices.ties == std::vector<PlanTie>{{"all", {0, 1}}});
}

TEST_CASE("tied weights on two chunks of one rank cost no transfer") {
  const StepPrices prices = steps_of(tied_model(), eight_per_node(1), plan_of(1, 1, {0, 2, 4}));
  REQUIRE(prices.tied_reduce.size() == 1);
  CHECK(prices.tied_reduce[0].reduce.duration == Duration{});
}

TEST_CASE("the worst replica decides on a tied reduction") {
  // 6 stages, 2 replicas: devices 0 and 5 of the first are in one node, 6 and 11 of the second are
  // not. 25 MB: 2 x (12.5 MB / 12.5 GB/s + 30 us); devices 0 and 6 share 50 GB/s, which is enough.
  ModelProfile profile = even_model(6, 20'000'000);
  profile.tied_weights = {{"embedding", {SectionId{0}, SectionId{5}}, {{1, 12'500'000}}}};
  profile.training.optimizer_ps_per_parameter = 1;
  const StepPrices prices = steps_of(profile, eight_per_node(2), even_plan(6, 2));
  REQUIRE(prices.tied_reduce.size() == 1);
  CHECK(prices.tied_reduce[0].reduce.duration == us(2060));
}

TEST_CASE("gradients are reduced over the replicas, all stages of a node at once") {
  // Replicas of a stage lie on devices s and 8 + s; the 8 groups of a node share 50 GB/s.
  // 12.5 MB: 2 messages of 6.25 MB at 6.25 GB/s: 2 x (1000 + 30) us.
  ModelProfile profile = even_model(8, 6'250'000);
  profile.training.optimizer_ps_per_parameter = 1;
  Plan plan = even_plan(8, 2);
  const StepPrices prices = steps_of(profile, eight_per_node(2), plan);
  for (const StepPrice& step : prices.step) {
    CHECK(step.reduce_gradient.duration == us(2060));
    CHECK(step.unshard.duration == Duration{});
  }
  // Side by side in one node: 2 x (10 us + 6.25 MB / 300 GB/s) = 2 x 30,833.33 ns.
  plan.placement = Placement::kDataInner;
  CHECK(steps_of(profile, eight_per_node(2), plan).step[3].reduce_gradient.duration.count() ==
        61'667);
}

TEST_CASE("a calibration of the plan's device prices reductions, per byte and by a factor") {
  // The 2,060 us of above twice, and 12.5 MB at 20 ps: 250 us.
  const ModelProfile profile = even_model(8, 6'250'000);
  ClusterSpec cluster = eight_per_node(2);
  cluster.calibration = Calibration{};
  cluster.calibration->device = "gpu";
  cluster.calibration->factors.reduction = 2.0;
  cluster.calibration->factors.reduction_ps_per_byte = 20.0;
  CHECK(steps_of(profile, cluster, even_plan(8, 2)).step[0].reduce_gradient.duration ==
        us(4120 + 250));
  CHECK(steps_of(profile, cluster, even_plan(8, 1)).step[0].reduce_gradient.duration == Duration{});
  cluster.calibration->device = "other";
  CHECK(steps_of(profile, cluster, even_plan(8, 2)).step[0].reduce_gradient.duration == us(2060));
}

// Two replicas of one stage, one on each type; only one type was calibrated. 12.5 MB between two
// nodes of one device: 2 x (30 us + 6.25 MB / 12.5 GB/s) = 2 x 530 us. Whichever of them comes
// last, the calibrated one is slower.
TEST_CASE("replicas on two types reduce by the slower type's factor and price per byte") {
  ClusterSpec cluster = eight_per_node(1);
  DeviceType old = cluster.device_types[0];
  old.name = "old";
  cluster.device_types.push_back(old);
  cluster.node_types = {{"node", 0, 1}, {"old node", 1, 1}};
  cluster.nodes = {{0, 1}, {1, 1}};
  cluster.levels[0].devices = 1;
  Plan plan = even_plan(1, 2);
  plan.global_batch = 3;
  plan.replica_kinds = {{1, 2}, {1, 1}};
  plan.rank_devices = {"gpu", "old"};
  ModelProfile profile = even_model(1, 6'250'000);
  profile.training.optimizer_ps_per_parameter = 1;
  const auto reduce = [&] {
    return steps_of(profile, cluster, plan).step[0].reduce_gradient.duration;
  };
  CHECK(reduce() == us(1060));
  cluster.calibration = Calibration{};
  cluster.calibration->factors.reduction = 2.0;
  cluster.calibration->factors.reduction_ps_per_byte = 20.0;
  for (const char* device : {"gpu", "old"}) {
    cluster.calibration->device = device;
    CHECK(reduce() == us(2120 + 250));
  }
}

TEST_CASE("ZeRO-1 shards the optimizer's state and replaces the all-reduce by its two halves") {
  ModelProfile profile = even_model(8, 6'250'001);
  profile.training.bytes_per_gradient = {4};
  profile.training.optimizer_ps_per_parameter = 17;
  Plan plan = even_plan(8, 2);
  plan.zero1 = true;
  const StepPrice step = steps_of(profile, eight_per_node(2), plan).step[0];
  CHECK(step.parameters.count == 12'500'002);
  CHECK(step.gradients.count == 25'000'004);
  CHECK(step.optimizer_state.count == 37'500'006);
  // Gradients: one message of 12,500,002 B at 6.25 GB/s: 2,000,000.32 ns + 30 us.
  CHECK(step.reduce_gradient.duration.count() == 2'030'001);
  // Parameters: one of 6,250,001 B: 1,000,000.16 ns + 30 us.
  CHECK(step.unshard.duration.count() == 1'030'001);
  // 3,125,001 parameters x 17 ps = 53,125,017 ps.
  CHECK(step.optimizer.duration.count() == 53'126);
}

TEST_CASE("sharded state rounds up") {
  ModelProfile profile = even_model(1, 100);
  profile.training.optimizer_ps_per_parameter = 1;
  Plan plan = even_plan(1, 7);
  plan.zero1 = true;
  // 1200 / 7 = 171.4
  CHECK(steps_of(profile, eight_per_node(1), plan).step[0].optimizer_state.count == 172);
}

TEST_CASE("the optimizer takes its measured time per parameter, rounded up") {
  // 1500 x 17 ps = 25.5 ns
  const StepPrices prices = steps_of(tied_model(), eight_per_node(1), plan_of(2, 1, {0, 2, 4}));
  CHECK(prices.step[0].optimizer.duration.count() == 26);
}

TEST_CASE("an optimizer that was not measured reads and writes all state once") {
  ModelProfile profile = tied_model();
  profile.training.optimizer_ps_per_parameter.reset();
  const StepPrices prices = steps_of(profile, eight_per_node(1), plan_of(2, 1, {0, 2, 4}));
  // 2 x 1500 x (2 + 2 + 12) B over 1 TB/s
  CHECK(prices.step[0].optimizer.duration.count() == 48);
  Plan elsewhere = plan_of(2, 1, {0, 2, 4});
  elsewhere.device = "h100";
  CHECK_THROWS_WITH_AS(steps_of(profile, eight_per_node(1), elsewhere),
                       "cluster 'test' has no device type 'h100'", Error);
}

Plan mapped_plan(StageMap map, int pipeline, int data, std::vector<int> cuts) {
  Plan plan = plan_of(pipeline, data, std::move(cuts));
  plan.stage_map = map;
  plan.chunks = 2;
  return plan;
}
// One section on each of `pipeline` stages, two copies of them.
Plan two_copies(int pipeline, int data) {
  return mapped_plan(StageMap::kBidirectional, pipeline, data, even_plan(pipeline, 1).cuts);
}

// Ranks s and 3 - s hold stage s: 12.5 MB between two devices of a node take 2 x (10 us + 6.25 MB /
// 300 GB/s) = 61,666.67 ns. Every rank keeps the state of two stages.
TEST_CASE("two copies of the weights reduce their gradients without any replicas") {
  ModelProfile profile = even_model(4, 6'250'000);
  profile.training.optimizer_ps_per_parameter = 1;
  const StepPrices prices = steps_of(profile, eight_per_node(1), two_copies(4, 1));
  REQUIRE(prices.step.size() == 8);
  for (const StepPrice& step : prices.step) {
    CHECK(step.parameters.count == 12'500'000);
    CHECK(step.optimizer_state.count == 75'000'000);
    CHECK(step.reduce_gradient.duration.count() == 61'667);
    CHECK(step.unshard.duration == Duration{});
    CHECK(step.optimizer.duration.count() == 6'250);
  }
  CHECK(prices.level_used == std::vector<bool>{true, false});
}

// Eight ranks per node, two nodes: stage s is on devices s, 7 - s, 8 + s, 15 - s. A ring of four
// takes 4 x 10 us inside and 2 x 30 us across; over each of two cards go 2 x 3/4 x 6.25 MB at 6.25
// GB/s, since all eight devices of a node send: 1,500 us. NVLink works meanwhile.
TEST_CASE("gradients are reduced over the copies of all replicas") {
  ModelProfile profile = even_model(8, 6'250'000);
  profile.training.optimizer_ps_per_parameter = 1;
  const StepPrices prices = steps_of(profile, eight_per_node(2), two_copies(8, 2));
  REQUIRE(prices.step.size() == 16);
  for (const StepPrice& step : prices.step) {
    CHECK(step.reduce_gradient.duration == us(100 + 1'500));
  }
}

// Four holders: 75,000,000 B / 4 of state, 6,250,000 / 4 parameters to update. Reduce-scatter and
// all-gather are each half of the all-reduce above.
TEST_CASE("ZeRO-1 shards over the copies too") {
  ModelProfile profile = even_model(8, 6'250'000);
  profile.training.optimizer_ps_per_parameter = 1000;
  Plan plan = two_copies(8, 2);
  plan.zero1 = true;
  const StepPrice step = steps_of(profile, eight_per_node(2), plan).step[11];
  CHECK(step.optimizer_state.count == 18'750'000);
  CHECK(step.optimizer.duration.count() == 1'562'500);
  CHECK(step.reduce_gradient.duration == us(800));
  CHECK(step.unshard.duration == step.reduce_gradient.duration);
}

TEST_CASE("tied weights are reduced over the stages of both copies at once") {
  // Stages 0 and 3 on rank 0, 1 and 2 on rank 1: a ring of two for 1,600 B, as without copies.
  StepPrices prices = steps_of(tied_model(), eight_per_node(1),
                               mapped_plan(StageMap::kBidirectional, 2, 1, {0, 2, 4}));
  CHECK(prices.ties == std::vector<PlanTie>{{"embedding", {0, 1, 2, 3}}});
  CHECK(prices.tied_reduce[0].reduce.duration.count() == 20'006);
  // On one stage of each copy they are not tied, only reduced with the rest.
  prices = steps_of(tied_model(), eight_per_node(1),
                    mapped_plan(StageMap::kBidirectional, 1, 1, {0, 4}));
  CHECK(prices.ties.empty());
  CHECK(prices.step[1].parameters.count == (1000 + 500 + 500 + 1000 - 800) * 2);
  CHECK(prices.step[1].reduce_gradient.duration == Duration{});  // one device holds both
}

TEST_CASE("the ends of a V are on one rank: tying them is free") {
  const StepPrices prices =
      steps_of(tied_model(), eight_per_node(1), mapped_plan(StageMap::kV, 2, 1, {0, 1, 2, 3, 4}));
  CHECK(prices.ties == std::vector<PlanTie>{{"embedding", {0, 3}}});
  CHECK(prices.tied_reduce[0].reduce.duration == Duration{});
  CHECK(prices.step[0].reduce_gradient.duration == Duration{});
}

TEST_CASE("the norm is an all-reduce of one number over the whole job") {
  ModelProfile profile = even_model(8, 1);
  profile.training.optimizer_ps_per_parameter = 1;
  // 14 x 10 us inside, 2 x 30 us across, and less than a nanosecond for the bytes.
  CHECK(steps_of(profile, eight_per_node(2), even_plan(8, 2)).norm.duration ==
        us(200) + Duration{1});
  CHECK(steps_of(even_model(1, 1), eight_per_node(1), even_plan(1, 1)).norm == Price{});
}

// 14 x 10 us inside, 2 x 30 us across and 1 ns for the bytes, as above.
TEST_CASE("the norm waits for the rank that counts the most parameters") {
  ModelProfile profile = even_model(8, 6'250'001);
  profile.training.optimizer_ps_per_parameter = 17;
  profile.training.norm_ps_per_parameter = 3;
  // 6,250,001 x 3 ps = 18,750,003 ps; the optimizer's time has no part in it.
  Plan plan = even_plan(8, 2);
  const Duration reduction = us(200) + Duration{1};
  CHECK(steps_of(profile, eight_per_node(2), plan).norm.duration == Duration{18'751} + reduction);
  // ZeRO-1: 3,125,001 x 3 ps = 9,375,003 ps, and 3,125,001 x 17 ps = 53,125,017 ps.
  plan.zero1 = true;
  const StepPrices sharded = steps_of(profile, eight_per_node(2), plan);
  CHECK(sharded.norm.duration == Duration{9'376} + reduction);
  CHECK(sharded.step[0].optimizer.duration.count() == 53'126);
  // Two copies: every rank holds two stages, and the lower ones count both, 37,500 ns; then 6 x 10
  // us and less than a nanosecond.
  profile = even_model(4, 6'250'000);
  profile.training.norm_ps_per_parameter = 3;
  CHECK(steps_of(profile, eight_per_node(1), two_copies(4, 1)).norm.duration ==
        Duration{37'500} + us(60) + Duration{1});
}

TEST_CASE("tied weights count once in the norm, on their first stage") {
  // Alone, 2,200 parameters x 1,000 ps on one device: nothing to reduce.
  ModelProfile profile = tied_model();
  profile.training.norm_ps_per_parameter = 1000;
  CHECK(steps_of(profile, eight_per_node(1), plan_of(1, 1, {0, 4})).norm.duration ==
        Duration{2'200});
  // In two stages 1,500 and 1,500 - 800, in a ring of two: 2 x 10 us and less than a ns for 2 B.
  CHECK(steps_of(profile, eight_per_node(1), plan_of(2, 1, {0, 2, 4})).norm.duration ==
        us(20) + Duration{1} + Duration{1'500});
  // The last stage has the most without its part of the tie: 1,000 and 1,200.
  CHECK(steps_of(profile, eight_per_node(1), plan_of(2, 1, {0, 1, 4})).norm.duration ==
        us(20) + Duration{1} + Duration{1'200});
}

TEST_CASE("levels count as used when a collective has a ring on them") {
  ModelProfile profile = even_model(8, 1);
  CHECK(steps_of(profile, eight_per_node(2), even_plan(8, 1)).level_used ==
        std::vector<bool>{true, false});
  CHECK(steps_of(profile, eight_per_node(2), even_plan(8, 2)).level_used ==
        std::vector<bool>{true, true});
}

TEST_CASE("one tensor rank stands for all when nodes hold whole tensor-parallel groups") {
  Plan plan;
  plan.device = "gpu";
  plan.tensor = 4;
  CHECK(DevicePlaces(eight_per_node(2), plan).distinct_inner_ranks() == std::vector<int>{0});
  plan.tensor = 3;
  CHECK(DevicePlaces(eight_per_node(2), plan).distinct_inner_ranks() == std::vector<int>{0, 1, 2});
}

}  // namespace
}  // namespace penstock
