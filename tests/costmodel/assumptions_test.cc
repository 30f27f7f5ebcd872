#include "costmodel/assumptions.h"

#include <doctest/doctest.h>

#include "costmodel/plan_sections.h"
#include "tests/costmodel/clusters.h"
#include "tests/costmodel/profiles.h"

namespace penstock {
namespace {

// F 100 ns, B 200 ns, I and W measured apart.
Measurement whole(int samples) {
  Measurement m = measured(samples, 0, 100 * samples, 200 * samples);
  m.input_gradient = m.weight_gradient = Timing{Duration{100 * samples}, Duration{}};
  return m;
}

ModelProfile one_type(const Measurement& m, int count) {
  ModelProfile profile = model_of(section_type("layer", 10, {m}), count);
  profile.training.optimizer_ps_per_parameter = 1;
  return profile;
}

Plan plan_of(int pipeline, int micro_batches) {
  Plan plan;
  plan.pipeline = pipeline;
  plan.global_batch = micro_batches;
  plan.device = "gpu";
  for (int stage = 0; stage <= pipeline; ++stage) plan.cuts.push_back(stage);
  return plan;
}

PriceBasis basis_of(const ModelProfile& profile, const Plan& plan,
                    const ClusterSpec& cluster = eight_per_node(1), bool splits_backward = false) {
  std::vector<SectionTable> tables;
  for (const MicroBatchShape& shape : micro_batch_shapes(plan)) {
    tables.push_back(
        price_sections(profile, eight_per_node(1), "gpu", 1, shape.samples, 0, "none"));
    REQUIRE(tables.back().why_not == "");
  }
  std::vector<const SectionTable*> shapes;
  shapes.reserve(tables.size());
  for (const SectionTable& table : tables) shapes.push_back(&table);
  const StagePricing pricing = price_stages(profile, cluster, plan, shapes);
  return weigh_assumptions(profile, cluster, plan, shapes, pricing, splits_backward);
}

TEST_CASE("a plan priced from measurements alone has the run-to-run interval") {
  const PriceBasis basis = basis_of(one_type(whole(1), 2), plan_of(2, 4));
  CHECK(basis.assumptions.empty());
  CHECK(basis.interval.above == doctest::Approx(0.05));
}

TEST_CASE("a calibrated plan carries the error of the calibration") {
  ClusterSpec cluster = eight_per_node(1);
  cluster.calibration = Calibration{};
  cluster.calibration->profile = "GPT";
  cluster.calibration->device = "gpu";
  cluster.calibration->runs = 9;
  cluster.calibration->error = 0.0627;
  const PriceBasis basis = basis_of(one_type(whole(1), 2), plan_of(2, 4), cluster);
  CHECK(
      basis.assumptions ==
      std::vector<Assumption>{{"calibrated on 9 runs of GPT (error of runs left out 6.3 %)", 0.0}});
  CHECK(basis.interval.above == doctest::Approx(0.0627));
  // Two runs of one plan differ by more than that.
  cluster.calibration->error = 0.01;
  CHECK(basis_of(one_type(whole(1), 2), plan_of(2, 4), cluster).interval.above ==
        doctest::Approx(0.05));
  cluster.calibration->device = "other";
  CHECK(basis_of(one_type(whole(1), 2), plan_of(2, 4), cluster).assumptions.empty());
}

TEST_CASE("assumed times widen the interval by a quarter of their share") {
  Measurement m = whole(1);
  m.time_source = 1;
  const PriceBasis basis = basis_of(one_type(m, 2), plan_of(2, 4));
  CHECK(basis.assumptions ==
        std::vector<Assumption>{{"compute times assumed (shape: from tensor shapes)", 1.0}});
  CHECK(basis.interval.above == doctest::Approx(0.25495));  // sqrt(0.05^2 + 0.25^2)
}

TEST_CASE("extrapolated times do so too, by their share of the busiest rank") {
  // Two types on each of two stages: layer as measured, block extrapolated from b = 2 to 1.
  ModelProfile profile = one_type(whole(1), 0);
  profile.section_types.push_back(section_type("block", 10, {whole(2)}));
  profile.sections = {{"layer", 0}, {"block", 1}, {"layer", 0}, {"block", 1}};
  Plan plan = plan_of(2, 4);
  plan.cuts = {0, 2, 4};
  const PriceBasis basis = basis_of(profile, plan);
  CHECK(basis.assumptions ==
        std::vector<Assumption>{{"extrapolated micro-batch size 1 beyond measured 2", 0.5}});
  CHECK(basis.interval.above == doctest::Approx(0.134629));  // sqrt(0.05^2 + 0.125^2)
}

// Recompute was assumed, the rest measured. The first rank has two of three sections and is the
// busiest.
TEST_CASE("an assumption about sections that recompute is named where the busiest rank has any") {
  Measurement recomputed = whole(1);
  recomputed.recompute = "full";
  recomputed.recompute_time.median = Duration{100};
  recomputed.time_source = 1;
  ModelProfile profile = model_of(section_type("layer", 10, {whole(1), recomputed}), 3);
  profile.training.optimizer_ps_per_parameter = 1;
  const ClusterSpec cluster = eight_per_node(1);
  Plan plan = plan_of(2, 4);
  plan.cuts = {0, 2, 3};
  plan.recompute = "full";
  const auto assumptions = [&](std::vector<int> counts) {
    plan.recompute_sections = std::move(counts);
    const SectionTable table = price_plan_sections(profile, cluster, "gpu", plan, {1, 0});
    REQUIRE(table.why_not == "");
    const std::vector<const SectionTable*> shapes{&table};
    const StagePricing pricing = price_stages(profile, cluster, plan, shapes);
    return weigh_assumptions(profile, cluster, plan, shapes, pricing, false).assumptions;
  };
  CHECK(assumptions({0, 1}).empty());
  CHECK(assumptions({1, 0}).size() == 1);
}

TEST_CASE("an assumed split counts only for schedules that use it, and only in the bubble") {
  const ModelProfile profile = one_type(measured(1, 0, 100, 200), 2);
  const Plan plan = plan_of(2, 3);
  CHECK(basis_of(profile, plan).assumptions.empty());
  CHECK(basis_of(profile, plan).interval.above == doctest::Approx(0.05));
  const PriceBasis basis = basis_of(profile, plan, eight_per_node(1), true);
  REQUIRE(basis.assumptions.size() == 1);
  CHECK(basis.assumptions[0].text ==
        "backward split into input and weight gradient: 50 % of B taken for W in 'layer', assumed "
        "for want "
        "of any figure");
  CHECK(basis.assumptions[0].share == doctest::Approx(2.0 / 3));
  // 0.25 x 2/3 x (P - 1) / (M + P - 1) = 1/24; sqrt(0.05^2 + 1/24^2)
  CHECK(basis.interval.above == doctest::Approx(0.0650854));
}

TEST_CASE("measured spreads average out over the micro-batches") {
  Measurement m = whole(1);
  m.forward.spread = Duration{60};
  m.fused_backward->spread = Duration{80};
  // 100 of 300 ns over sqrt(4): 1/6
  CHECK(basis_of(one_type(m, 2), plan_of(2, 4)).interval.above ==
        doctest::Approx(0.174005));  // sqrt(0.05^2 + 1/36)
}

TEST_CASE("with two copies of the weights a stage sees half of the micro-batches") {
  Measurement m = whole(1);
  m.forward.spread = Duration{60};
  m.fused_backward->spread = Duration{80};
  Plan plan = plan_of(2, 4);
  plan.chunks = 2;
  plan.stage_map = StageMap::kBidirectional;
  // Two stages of 300 ns with a spread of 100 ns each: sqrt(2) x 100 of 600 ns over sqrt(2): 1/6
  CHECK(basis_of(one_type(m, 2), plan).interval.above == doctest::Approx(0.174005));
}

TEST_CASE("equal texts are merged, and a short last micro-batch weighs one of M") {
  // 9 samples in micro-batches of 2: five, the last of 1, beyond what was measured.
  ModelProfile profile = one_type(whole(2), 0);
  profile.section_types.push_back(section_type("block", 10, {whole(2)}));
  profile.sections = {{"layer", 0}, {"block", 1}};
  Plan plan = plan_of(1, 9);
  plan.micro_batch_size = 2;
  plan.cuts = {0, 2};
  const PriceBasis basis = basis_of(profile, plan);
  REQUIRE(basis.assumptions.size() == 1);
  CHECK(basis.assumptions[0].text == "extrapolated micro-batch size 1 beyond measured 2");
  // 2 x 300 ns of the full shape's 2 x 600 ns, in one micro-batch of five
  CHECK(basis.assumptions[0].share == doctest::Approx(0.1));
  CHECK(basis.interval.above == doctest::Approx(0.05));
}

TEST_CASE("links and optimizer are named when the plan uses them") {
  ModelProfile profile = one_type(whole(1), 16);
  profile.training.optimizer_ps_per_parameter.reset();
  ClusterSpec cluster = eight_per_node(2);
  cluster.sources = three_sources();
  cluster.levels[0].source = 1;
  cluster.levels[1].source = 2;
  const Assumption optimizer{"optimizer priced from memory bandwidth", 0.0};
  const Assumption inside{"link nvlink: latency and bandwidth assumed (shape: from tensor shapes)",
                          0.0};
  const Assumption between{
      "link efa: latency and bandwidth from a datasheet (sheet: vendor's page)", 0.0};
  CHECK(basis_of(profile, plan_of(8, 4), cluster).assumptions ==
        std::vector<Assumption>{optimizer, inside});
  CHECK(basis_of(profile, plan_of(16, 4), cluster).assumptions ==
        std::vector<Assumption>{optimizer, inside, between});
  CHECK(basis_of(profile, plan_of(1, 4), cluster).assumptions ==
        std::vector<Assumption>{optimizer});
}

TEST_CASE("a link that only gradients cross is named, too") {
  // Each of two replicas fills a node: activations stay inside, gradients go between.
  ClusterSpec cluster = eight_per_node(2);
  cluster.sources = three_sources();
  cluster.levels[1].source = 2;
  Plan plan = plan_of(8, 8);
  CHECK(basis_of(one_type(whole(1), 8), plan, cluster).assumptions.empty());
  plan.data = 2;
  CHECK(basis_of(one_type(whole(1), 8), plan, cluster).assumptions ==
        std::vector<Assumption>{
            {"link efa: latency and bandwidth from a datasheet (sheet: vendor's page)", 0.0}});
}

TEST_CASE("assumed training state is named with its source") {
  ModelProfile profile = one_type(whole(1), 1);
  profile.training.source = 1;
  CHECK(basis_of(profile, plan_of(1, 4)).assumptions ==
        std::vector<Assumption>{
            {"training state per parameter assumed (shape: from tensor shapes)", 0.0}});
}

}  // namespace
}  // namespace penstock
