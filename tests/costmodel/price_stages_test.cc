#include "costmodel/price_stages.h"

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "tests/costmodel/clusters.h"
#include "tests/costmodel/profiles.h"

namespace penstock {
namespace {

SectionType sized_type(const std::string& name, std::int64_t forward_ns, std::int64_t boundary) {
  Measurement m = measured(1, 0, forward_ns, 2 * forward_ns);
  m.boundary = {boundary};
  return section_type(name, 10, {m});
}

// `count` equal sections that hand on 12.5 MB: 1 ms at 12.5 GB/s.
ModelProfile even_model(int count) {
  ModelProfile profile = model_of(sized_type("layer", 100, 12'500'000), count);
  profile.training.optimizer_ps_per_parameter = 1;
  return profile;
}

Plan even_plan(int pipeline, int chunks, int data, int tensor) {
  Plan plan;
  plan.pipeline = pipeline;
  plan.chunks = chunks;
  plan.data = data;
  plan.tensor = tensor;
  plan.global_batch = 4 * data;
  plan.device = "gpu";
  for (int stage = 0; stage <= plan.stages(); ++stage) plan.cuts.push_back(stage);
  return plan;
}

StagePricing priced(const ModelProfile& profile, const ClusterSpec& cluster, const Plan& plan) {
  const SectionTable table = price_sections(profile, cluster, plan.device, plan.tensor,
                                            plan.micro_batch_size, 0, plan.recompute);
  REQUIRE(table.why_not == "");
  return price_stages(profile, cluster, plan, {{&table}});
}

TEST_CASE("a stage is the sum of its sections; peaks do not add") {
  Measurement a = measured(1, 0, 100, 200), b = measured(1, 0, 10, 20);
  a.forward.spread = Duration{3};
  b.forward.spread = Duration{4};
  a.recompute_time.median = Duration{7};
  a.weight_gradient_share = 0.25;
  a.stash = {1000};
  b.stash = {100};
  a.weight_stash = {500};
  b.weight_stash = {50};
  a.working_peak = {70};
  b.working_peak = {80};
  a.boundary = {5};
  b.boundary = {6};
  ModelProfile profile;
  profile.sources = three_sources();
  profile.section_types = {section_type("a", 10, {a}), section_type("b", 10, {b})};
  profile.sections = {{"a.0", 0}, {"a.1", 0}, {"b.0", 1}};
  Plan plan = even_plan(1, 1, 1, 1);
  plan.cuts = {0, 3};
  const ComputePrice stage = priced(profile, eight_per_node(1), plan).prices.compute_of(0, 0);
  CHECK(stage.forward == Price{Duration{210}, Duration{6}});  // sqrt(9 + 9 + 16) = 5.83
  CHECK(stage.fused_backward.duration.count() == 420);
  CHECK(stage.weight_gradient.duration.count() == 50 + 50 + 10);
  CHECK(stage.input_gradient.duration.count() == 150 + 150 + 10);
  CHECK(stage.recompute.duration.count() == 14);
  CHECK(stage.stash.count == 2100);
  CHECK(stage.weight_stash.count == 1050);
  CHECK(stage.working_peak.count == 80);
  CHECK(stage.boundary.count == 6);
}

TEST_CASE("a boundary is priced at the level between its ranks, and the last stage has none") {
  const StagePricing pricing = priced(even_model(3), eight_per_node(1), even_plan(3, 1, 1, 1));
  // 12.5 MB / 300 GB/s = 41,666.67 ns, + 10 us
  const Price expected{Duration{51'667}, Duration{}};
  CHECK(pricing.boundary_level == std::vector<int>{0, 0});
  CHECK(pricing.prices.transfer_of(0, 0) == TransferPrice{expected, expected});
  CHECK(pricing.prices.transfer_of(1, 0) == TransferPrice{expected, expected});
  CHECK(pricing.prices.transfer_of(2, 0) == TransferPrice{});
}

TEST_CASE("a calibration of the plan's device scales transfers") {
  ClusterSpec cluster = eight_per_node(1);
  cluster.calibration = Calibration{};
  cluster.calibration->device = "gpu";
  cluster.calibration->factors.transfer = 2.0;
  const auto sent = [&] {
    return priced(even_model(3), cluster, even_plan(3, 1, 1, 1)).prices.transfer_of(0, 0);
  };
  CHECK(sent().activation.duration == Duration{2 * 51'667});
  CHECK(sent().gradient.duration == Duration{2 * 51'667});
  cluster.calibration->device = "other";
  CHECK(sent().activation.duration == Duration{51'667});
}

TEST_CASE("between two types the slower factor counts, whichever end it is of") {
  // Nodes of 8 "gpu", 4 "old" and 8 "gpu" again; only "old" was calibrated.
  ClusterSpec cluster = eight_per_node(1);
  DeviceType old = cluster.device_types[0];
  old.name = "old";
  cluster.device_types.push_back(old);
  cluster.node_types.push_back({"small", 1, 4});
  cluster.nodes = {{0, 1}, {1, 1}, {0, 1}};
  const ModelProfile profile = even_model(2);
  ModelProfile on_both = profile;
  for (const Measurement& one : profile.section_types[0].measurements) {
    on_both.section_types[0].measurements.push_back(one);
    on_both.section_types[0].measurements.back().device = "old";
  }
  const auto sent = [&](const std::vector<std::string>& types) {
    Plan plan = even_plan(2, 1, 1, 1);
    set_rank_devices(plan, types);
    std::vector<SectionTable> tables;
    for (const std::string& type : types) {
      tables.push_back(price_sections(on_both, cluster, type, 1, plan.micro_batch_size, 0, "none"));
      REQUIRE(tables.back().why_not == "");
    }
    return price_stages(on_both, cluster, plan, RankTables::of_each({{&tables[0]}, {&tables[1]}}))
        .prices.transfer_of(0, 0);
  };
  // 12.5 MB / 12.5 GB/s and 30 us
  CHECK(sent({"gpu", "old"}).activation.duration == us(1030));
  cluster.calibration = Calibration{};
  cluster.calibration->device = "old";
  cluster.calibration->factors.transfer = 2.0;
  for (const std::vector<std::string>& types :
       {std::vector<std::string>{"gpu", "old"}, {"old", "gpu"}}) {
    CHECK(sent(types).activation.duration == us(2060));
    CHECK(sent(types).gradient.duration == us(2060));
  }
  cluster.calibration->factors.transfer = 0.5;  // faster: the other end's 1 counts
  CHECK(sent({"gpu", "old"}).activation.duration == us(1030));
}

// Four stages on two ranks. A message of 12.5 MB takes 51,667 ns between idle ranks, of which it
// keeps the sender busy for 100 and the receiver for 30.
TEST_CASE("messages that were measured take of the compute of their ranks, and less of the wire") {
  ClusterSpec cluster = eight_per_node(1);
  cluster.measured_executor = MeasuredExecutor{};
  cluster.measured_executor->messages = {{{1000}, Duration{20}, Duration{10}},
                                         {{12'500'000}, Duration{100}, Duration{30}}};
  const ModelProfile profile = even_model(4);
  const Plan plan = even_plan(2, 2, 1, 1);
  CHECK(priced(profile, cluster, plan).prices ==
        priced(profile, eight_per_node(1), plan).prices);  // not asked for
  cluster.measured_executor->is_priced = true;
  const StagePrices prices = priced(profile, cluster, plan).prices;
  const auto forward = [&](int stage) { return prices.compute_of(stage, 0).forward.duration; };
  const auto backward = [&](int stage) {
    return prices.compute_of(stage, 0).fused_backward.duration;
  };
  CHECK(forward(0) == Duration{100 + 100});
  CHECK(forward(1) == Duration{30 + 100 + 100});
  CHECK(forward(3) == Duration{30 + 100});
  CHECK(backward(0) == Duration{30 + 200});
  CHECK(backward(2) == Duration{30 + 200 + 100});
  CHECK(backward(3) == Duration{200 + 100});
  CHECK(prices.compute_of(1, 0).input_gradient.duration == Duration{30 + 100 + 100});
  CHECK(prices.compute_of(1, 0).weight_gradient.duration == Duration{100});
  CHECK(prices.transfer_of(0, 0).activation.duration == Duration{51'667 - 130});
  CHECK(prices.transfer_of(2, 0).gradient.duration == Duration{51'667 - 130});
  CHECK(prices.transfer_of(3, 0) == TransferPrice{});

  const StagePrices alone = priced(even_model(2), cluster, even_plan(1, 2, 1, 1)).prices;
  CHECK(alone.compute_of(0, 0).forward.duration == Duration{100});  // one rank: no message
  cluster.measured_executor->messages[1].send = us(90);
  CHECK(priced(profile, cluster, plan).prices.transfer_of(0, 0).activation.duration == Duration{});
}

TEST_CASE("a message between two measured sizes lies on their line, others on the outer ones") {
  MeasuredExecutor executor;
  CHECK(executor.message_of({7}) == MessageCost{{7}, {}, {}});
  executor.messages = {{{1000}, Duration{20}, Duration{10}}};
  CHECK(executor.message_of({1}).send == Duration{20});
  CHECK(executor.message_of({9000}).send == Duration{20});
  executor.messages.push_back({{3000}, Duration{40}, Duration{10}});
  CHECK(executor.message_of({1000}).send == Duration{20});
  CHECK(executor.message_of({2000}) == MessageCost{{2000}, Duration{30}, Duration{10}});
  CHECK(executor.message_of({5000}).send == Duration{60});
  CHECK(executor.message_of({0}) == MessageCost{{0}, {}, {}});
}

TEST_CASE("two stages on one rank hand over for nothing") {
  const StagePricing pricing = priced(even_model(2), eight_per_node(1), even_plan(1, 2, 1, 1));
  CHECK(pricing.boundary_level == std::vector<int>{-1});
  CHECK(pricing.prices.transfer_of(0, 0) == TransferPrice{});
}

TEST_CASE("chunks wrap from the last rank to the first") {
  // 9 ranks: device 8 is in the second node, so 7 -> 8 and 8 -> 0 cross.
  const StagePricing pricing = priced(even_model(18), eight_per_node(2), even_plan(9, 2, 1, 1));
  REQUIRE(pricing.boundary_level.size() == 17);
  CHECK(pricing.boundary_level[6] == 0);
  CHECK(pricing.boundary_level[7] == 1);
  CHECK(pricing.boundary_level[8] == 1);
  CHECK(pricing.boundary_level[9] == 0);
  CHECK(pricing.prices.transfer_of(8, 0).activation.duration == us(1030));
}

Plan mapped_plan(StageMap map, int pipeline, int data) {
  Plan plan = even_plan(pipeline, 2, data, 1);
  plan.stage_map = map;
  plan.cuts.resize(static_cast<std::size_t>(plan.stages_per_copy()) + 1);
  return plan;
}

// Four ranks, two per node: 12.5 MB take 51,667 ns inside, 1,030 us across.
//   stage  0    1    2    3    4    5    6    7
//   rank   0 in 1 out 2 in 3    3 in 2 out 1 in 0
TEST_CASE("a V goes back the way it came, and its turn is free") {
  ClusterSpec cluster = eight_per_node(2);
  cluster.levels[0].devices = 2;
  const StagePricing pricing = priced(even_model(8), cluster, mapped_plan(StageMap::kV, 4, 1));
  CHECK(pricing.boundary_level == std::vector<int>{0, 1, 0, -1, 0, 1, 0});
  CHECK(pricing.prices.transfer_of(3, 0) == TransferPrice{});
  for (const int inside : {0, 2, 4, 6}) {
    CHECK(pricing.prices.transfer_of(inside, 0).activation.duration.count() == 51'667);
  }
  for (const int across : {1, 5}) {
    CHECK(pricing.prices.transfer_of(across, 0).gradient.duration == us(1030));
  }
}

// Nodes of four, three ranks of five replicas side by side: 0..4, 5..9, 10..14. Of ranks 0 and 1,
// devices 0..3 of one node send to 5, 6, 7 and 8: four leave a node together, three come back. They
// share 25 GB/s: 12.5 MB at 6.25 GB/s and at 8.33 GB/s.
TEST_CASE("on the way back the flows are those of the other end") {
  ClusterSpec cluster = eight_per_node(2);
  cluster.levels[0].devices = 4;
  cluster.levels[1].shared_bandwidth = {25e9};
  Plan plan = mapped_plan(StageMap::kV, 3, 5);
  plan.placement = Placement::kDataInner;
  const StagePrices prices = priced(even_model(6), cluster, plan).prices;
  CHECK(prices.transfer_of(0, 0).activation.duration == us(2030));
  CHECK(prices.transfer_of(0, 0).gradient.duration == us(1530));
  CHECK(prices.transfer_of(2, 0) == TransferPrice{});
  CHECK(prices.transfer_of(4, 0).activation.duration == us(1530));
  CHECK(prices.transfer_of(4, 0).gradient.duration == us(2030));
}

//   copy 0: stages 0 to 3 on ranks 0 in 1 out 2 in 3; copy 1: stages 4 to 7 on 3 in 2 out 1 in 0
TEST_CASE("two copies of the weights are priced from the same sections, each on its ranks") {
  ClusterSpec cluster = eight_per_node(2);
  cluster.levels[0].devices = 2;
  ModelProfile profile = even_model(4);
  profile.section_types.push_back(sized_type("wide", 300, 25'000'000));
  profile.sections[1].type = 1;
  const StagePricing pricing =
      priced(profile, cluster, mapped_plan(StageMap::kBidirectional, 4, 1));
  const StagePrices& prices = pricing.prices;
  REQUIRE(prices.stages == 8);
  REQUIRE(prices.step.size() == 8);
  CHECK(pricing.boundary_level == std::vector<int>{0, 1, 0, -1, 0, 1, 0});
  for (int s = 0; s < 4; ++s) CHECK(prices.compute_of(s, 0) == prices.compute_of(4 + s, 0));
  CHECK(prices.compute_of(5, 0).forward.duration.count() == 300);
  // The wide section is on rank 1 and on rank 2: 25 MB across, 2 ms.
  CHECK(prices.transfer_of(1, 0).activation.duration == us(2030));
  CHECK(prices.transfer_of(5, 0).activation.duration == us(2030));
  CHECK(prices.transfer_of(3, 0) == TransferPrice{});
  CHECK(prices.transfer_of(7, 0) == TransferPrice{});
}

TEST_CASE("replicas that cross the same network cards share them") {
  Plan plan = even_plan(2, 1, 8, 1);
  plan.placement = Placement::kDataInner;  // stage 0 on devices 0..7, stage 1 on 8..15
  StagePricing pricing = priced(even_model(2), eight_per_node(2), plan);
  CHECK(pricing.boundary_level == std::vector<int>{1});
  CHECK(pricing.prices.transfer_of(0, 0).activation.duration == us(2030));  // 50 / 8 GB/s
  CHECK(pricing.prices.transfer_of(0, 0).gradient.duration == us(2030));
  plan.placement = Placement::kPipelineInner;  // neighbours
  pricing = priced(even_model(2), eight_per_node(2), plan);
  CHECK(pricing.boundary_level == std::vector<int>{0});
}

TEST_CASE("tensor ranks send the whole boundary each") {
  ModelProfile profile = even_model(2);
  profile.section_types[0].parameters.push_back({8, 2});
  profile.section_types[0].measurements[0].tensor_degree = 8;
  const StagePricing pricing = priced(profile, eight_per_node(2), even_plan(2, 1, 1, 8));
  CHECK(pricing.boundary_level == std::vector<int>{1});
  CHECK(pricing.prices.transfer_of(0, 0).activation.duration == us(2030));
}

TEST_CASE("the worst replica gives the level, and only those that cross it share") {
  // 3 stages, 3 replicas: devices 0 1 2 | 3 4 5 | 6 7 [8]: only 7 -> 8 leaves the node.
  const StagePricing pricing = priced(even_model(3), eight_per_node(2), even_plan(3, 1, 3, 1));
  CHECK(pricing.boundary_level == std::vector<int>{0, 1});
  CHECK(pricing.prices.transfer_of(1, 0).activation.duration == us(1030));
}

TEST_CASE("tensor-parallel groups that straddle nodes are looked at one by one") {
  // T = 3: stage 0 on devices 0..2, stage 1 on 3..5, stage 2 on 6..8. 3..5 -> 6, 7, 8: the last
  // one crosses alone.
  ModelProfile profile = even_model(3);
  profile.section_types[0].parameters.push_back({3, 4});
  profile.section_types[0].measurements[0].tensor_degree = 3;
  const StagePricing pricing = priced(profile, eight_per_node(2), even_plan(3, 1, 1, 3));
  CHECK(pricing.boundary_level == std::vector<int>{0, 1});
  CHECK(pricing.prices.transfer_of(1, 0).activation.duration == us(1030));
}

TEST_CASE("every micro-batch shape has its prices") {
  ModelProfile profile = even_model(2);
  Measurement two = profile.section_types[0].measurements[0];
  two.micro_batch_size = 2;
  two.forward.median = Duration{170};
  two.boundary = {25'000'000};
  profile.section_types[0].measurements.push_back(two);
  Plan plan = even_plan(2, 1, 1, 1);
  plan.micro_batch_size = 2;
  plan.global_batch = 5;
  const SectionTable full = price_sections(profile, eight_per_node(1), "gpu", 1, 2, 0, "none");
  const SectionTable rest = price_sections(profile, eight_per_node(1), "gpu", 1, 1, 0, "none");
  const StagePrices prices =
      price_stages(profile, eight_per_node(1), plan, {{&full, &rest}}).prices;
  CHECK(prices.shapes == 2);
  CHECK(prices.stages == 2);
  CHECK(prices.compute_of(1, 0).forward.duration.count() == 170);
  CHECK(prices.compute_of(1, 1).forward.duration.count() == 100);
  // 25 MB: 83,333.33 ns, 12.5 MB: 41,666.67 ns; + 10 us
  CHECK(prices.transfer_of(0, 0).activation.duration.count() == 93'334);
  CHECK(prices.transfer_of(0, 1).activation.duration.count() == 51'667);
}

TEST_CASE("a plan without cuts and a table with a reason are our bugs") {
  const ModelProfile profile = even_model(2);
  const SectionTable table = price_sections(profile, eight_per_node(1), "gpu", 1, 1, 0, "none");
  Plan plan = even_plan(2, 1, 1, 1);
  plan.cuts.clear();
  CHECK_THROWS_AS(price_stages(profile, eight_per_node(1), plan, {{&table}}), Error);
  const SectionTable none = price_sections(profile, eight_per_node(1), "other", 1, 1, 0, "none");
  CHECK_THROWS_AS(price_stages(profile, eight_per_node(1), even_plan(2, 1, 1, 1), {{&none}}),
                  Error);
}

}  // namespace
}  // namespace penstock
