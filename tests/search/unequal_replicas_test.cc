// Plans whose replicas are on different device types, or take different shares of the batch.
#include <algorithm>

#include <doctest/doctest.h>

#include "core/check/check.h"
#include "core/values/error.h"
#include "core/values/plan_file.h"
#include "search/evaluate.h"
#include "tests/search/models.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::add_nodes;
using testing::also_on;
using testing::cluster_of;
using testing::Costs;
using testing::model_of_sections;
using testing::Random;
using testing::random_cluster;
using testing::random_model;
using testing::random_static_kind;
using testing::set_schedule;

// Nine layers of 1 us + 2 us on "gpu", twice that on "old"; 100 parameters each.
struct Unequal {
  ModelProfile model = also_on(model_of_sections(std::vector<Costs>(9, Costs{})), "old", 2);
  ClusterSpec cluster = cluster_of({2, 2});
  Plan plan;
  Unequal() {
    add_nodes(cluster, "old", 2, 2, 1'000'000);
    for (SectionType& type : model.section_types) type.parameters = {{1, 100}};
    for (LinkLevel& level : cluster.levels) level.bandwidth = {1e9};
    plan.cuts = {0, 9};
  }
  // Of P ranks on one type each.
  void replicas(const std::vector<std::pair<std::string, ReplicaKind>>& kinds) {
    std::vector<std::string> types;
    plan.replica_kinds.clear();
    plan.data = plan.global_batch = 0;
    for (const auto& [type, kind] : kinds) {
      types.insert(types.end(), static_cast<std::size_t>(plan.pipeline), type);
      plan.replica_kinds.push_back(kind);
      plan.data += kind.replicas;
      plan.global_batch += kind.replicas * kind.samples;
    }
    set_rank_devices(plan, types);
  }
  [[nodiscard]] PlanInputs inputs() const { return {&model, &cluster, {}, {}}; }
  [[nodiscard]] EvaluatedPlan evaluated() const { return evaluate(inputs(), plan); }
};

TEST_CASE("the slowest replica determines the step: the largest of M_r t_r, and the reduction") {
  Unequal m;
  for (int fast = 1; fast <= 6; ++fast) {
    for (int slow = 1; slow <= 4; ++slow) {
      m.replicas({{"gpu", {1, fast}}, {"old", {1, slow}}});
      const EvaluatedPlan of = m.evaluated();
      REQUIRE_FALSE(of.why_not);
      // 9 x 3 us and 9 x 6 us a micro-batch; a ring of two over 900 bytes at 1 B/ns: 900 ns. The
      // norm of two devices: 2 steps without latency, 4 bytes: 4 ns.
      const Duration work{std::max(fast * 27'000, slow * 54'000)};
      CHECK(of.prices.step[0].reduce_gradient.duration == Duration{900});
      CHECK(of.prices.norm.duration == Duration{4});
      CHECK(of.evaluation.step_time == work + Duration{904});
      REQUIRE(of.evaluation.ranks.size() == 2);
      CHECK(of.evaluation.ranks[0].time.busy == Duration{fast * 27'000});
      CHECK(of.evaluation.ranks[1].time.busy == Duration{slow * 54'000});
      CHECK(of.evaluation.ideal == work);
    }
  }
}

TEST_CASE(
    "two pipelines of two types, each with its own times, links and number of micro-batches") {
  Unequal m;
  for (SectionType& type : m.model.section_types) {
    for (Measurement& each : type.measurements) each.boundary = {1000 * each.micro_batch_size};
  }
  // Within the old nodes a tenth of the bandwidth.
  m.cluster.levels[0].of_types = {{1, {}, Duration{}, {1e8}, {}, 0}};
  m.plan.pipeline = 2;
  m.plan.cuts = {0, 5, 9};
  m.replicas({{"gpu", {1, 4}}, {"old", {1, 2}}});
  const EvaluatedPlan of = m.evaluated();
  REQUIRE_FALSE(of.why_not);
  REQUIRE(of.prices.shapes == 2);  // one of each type
  CHECK(of.prices.compute_of(0, 0).forward.duration == Duration{5'000});
  CHECK(of.prices.compute_of(0, 1).forward.duration == Duration{10'000});
  CHECK(of.prices.transfer_of(0, 0).activation.duration == Duration{1'000});
  CHECK(of.prices.transfer_of(0, 1).gradient.duration == Duration{10'000});
  // Gradients go between a gpu node and an old one: 500 bytes of five layers.
  CHECK(of.prices.step[0].reduce_gradient.duration == Duration{500});
  CHECK(of.boundary_level == std::vector<int>{0});
  // 1F1B of two stages, F and B of 5 and 10 us before, 4 and 8 us behind, 1 us on the way. Stage 0:
  // F 0-10 (both), B 19-29, F -34, B -44, F -49, B -59; the last micro-batch is on stage 1 from 50
  // to 62, so its B runs 63-73. On the slow pipeline, 10 us on the way: F 0-20, B 54-74; stage 1
  // works 44-68 on the second micro-batch, whose gradient arrives at 78: B 78-98.
  const Duration fast{73'000}, slow{98'000};
  const Duration ends{500 + of.prices.norm.duration.count()};
  CHECK(of.evaluation.step_time == slow + ends);
  CHECK(of.evaluation.ranks.size() == 4);
  CHECK(of.evaluation.ranks[0].time.busy == Duration{60'000});
  CHECK(of.evaluation.ranks[2].time.busy == Duration{60'000});
  CHECK(of.evaluation.ranks[3].time.busy == Duration{48'000});
  // Without the slow pipeline the fast one takes what it takes.
  m.plan = plan_of_kind(m.plan, 0);
  CHECK(m.evaluated().evaluation.step_time < slow);
  CHECK(m.evaluated().evaluation.step_time >= fast);
}

TEST_CASE("memory of every kind of replicas is held against its own devices") {
  Unequal m;
  m.cluster.device_types[1].memory = {4000};
  m.cluster.device_types[1].reserve = {100};
  for (SectionType& type : m.model.section_types) {
    for (Measurement& each : type.measurements) each.stash = {10 * each.micro_batch_size};
  }
  m.replicas({{"gpu", {1, 4}}, {"old", {1, 2}}});
  const EvaluatedPlan fits = m.evaluated();
  REQUIRE_FALSE(fits.why_not);
  REQUIRE(fits.evaluation.ranks.size() == 2);
  CHECK(fits.evaluation.ranks[0].capacity == Bytes{1'000'000});
  CHECK(fits.evaluation.ranks[1].capacity == Bytes{4000});
  CHECK(fits.evaluation.ranks[1].memory.reserve == Bytes{100});
  // 900 parameters of 4 bytes, 90 bytes of stash.
  CHECK(fits.evaluation.ranks[1].memory.total() == Bytes{3600 + 90 + 100});
  m.cluster.device_types[1].memory = {3789};
  const EvaluatedPlan over = m.evaluated();
  REQUIRE(over.why_not);
  CHECK(over.why_not->reason == "the only stage (old) over memory");
  CHECK(over.why_not->least_over == Bytes{1});
  // ZeRO-1 divides the optimizer's state over all replicas, not over those of a kind.
  m.plan.zero1 = true;
  CHECK(m.evaluated().evaluation.ranks[1].memory.optimizer_state == Bytes{900});
}

TEST_CASE("dollars are those of all devices of all kinds") {
  Unequal m;
  m.cluster.device_types[0].usd_per_hour = 3600.0;
  m.cluster.device_types[1].usd_per_hour = 1800.0;
  m.replicas({{"gpu", {3, 2}}, {"old", {2, 1}}});
  const Evaluation of = m.evaluated().evaluation;
  const double seconds = static_cast<double>(of.step_time.count()) * 1e-9;
  CHECK(of.usd_per_step == doctest::Approx(seconds * (3 * 1.0 + 2 * 0.5)));
}

TEST_CASE("unequal replicas that cannot be are refused") {
  Unequal m;
  const auto refusal = [&]() -> std::string {
    try {
      const EvaluatedPlan of = m.evaluated();
      return of.why_not ? of.why_not->reason : "";
    } catch (const Error& error) {
      return error.what();
    }
  };
  m.replicas({{"gpu", {3, 2}}, {"old", {5, 1}}});
  CHECK(refusal() == "5 ranks * T = 5 devices, but the cluster has 4 of type old");
  m.replicas({{"gpu", {3, 2}}, {"old", {1, 1}}});
  m.plan.global_batch = 8;
  CHECK(refusal() ==
        "the kinds of replicas are 4 replicas with 7 samples, but D is 4 and the batch 8");
  m.plan.global_batch = 7;
  m.plan.schedule = "zb-auto";
  CHECK(refusal() == "zb-auto is arranged for replicas that are alike, but these are unequal");
}

TEST_CASE("cuts for unequal replicas suit the slowest of each rank's devices and the smallest") {
  Unequal m;
  m.plan.pipeline = 2;
  m.plan.cuts.clear();
  m.replicas({{"gpu", {1, 4}}, {"old", {1, 2}}});
  // Rank 1 of the second kind on "gpu": rank 0 is slow somewhere, rank 1 is not.
  set_rank_devices(m.plan, {"gpu", "gpu", "old", "gpu"});
  CHECK(m.evaluated().plan.cuts == std::vector<int>{0, 3, 9});
}

// A plan of replicas that are alike, said as kinds: D divided in two or three, those with one
// sample more first.
Plan said_in_kinds(const Plan& plan, Random& random, const std::vector<std::string>& types) {
  Plan said = plan;
  std::vector<std::string> of_ranks;
  for (int first = 0; first < plan.data;) {
    const int longer = plan.global_batch % plan.data;
    const int most = (first < longer ? longer : plan.data) - first;
    const int replicas = random.between(1, most);
    said.replica_kinds.push_back({replicas, samples_of_replica(plan, first)});
    const std::string& type = types[said.replica_kinds.size() % types.size()];
    of_ranks.insert(of_ranks.end(), static_cast<std::size_t>(plan.pipeline), type);
    first += replicas;
  }
  set_rank_devices(said, of_ranks);
  return said;
}

Plan random_plan(Random& random, int devices) {
  Plan plan;
  plan.device = "gpu";
  plan.pipeline = random.between(1, 3);
  set_schedule(plan, random_static_kind(random), 2);
  plan.data = random.between(2, std::max(2, devices / plan.pipeline));
  plan.micro_batch_size = random.between(1, 2);
  plan.global_batch = plan.data * random.between(2, 9) + random.between(0, plan.data - 1);
  plan.zero1 = random.coin();
  plan.placement = random.coin() ? Placement::kDataInner : Placement::kPipelineInner;
  return plan;
}

TEST_CASE("kinds of replicas on the same devices are the plain plan, to the nanosecond") {
  Random random(41);
  int compared = 0;
  for (int i = 0; i < testing::draws(150); ++i) {
    const ModelProfile model = random_model(random, 8);
    ClusterSpec cluster = random_cluster(random, 3, 4);
    cluster.device_types[0].memory = {50'000};
    Plan plan = random_plan(random, 12);
    if (plan.stages_per_copy() > 8 || plan.pipeline * plan.data > 12) continue;
    const EvaluatedPlan plain = evaluate_in_full({&model, &cluster, {}, {}}, plan);
    if (plain.why_not) continue;
    plan = plain.plan;
    const Plan said = said_in_kinds(plan, random, {"gpu"});
    const EvaluatedPlan kinds = evaluate_in_full({&model, &cluster, {}, {}}, said);
    CAPTURE(plan.schedule);
    REQUIRE_FALSE(kinds.why_not);
    ++compared;
    CHECK(kinds.evaluation.step_time == plain.evaluation.step_time);
    CHECK(kinds.evaluation.longest_span == plain.evaluation.longest_span);
    CHECK(kinds.evaluation.ideal == plain.evaluation.ideal);
    CHECK(kinds.evaluation.usd_per_step == plain.evaluation.usd_per_step);
    CHECK(kinds.boundary_level == plain.boundary_level);
    CHECK(kinds.prices.step == plain.prices.step);
    CHECK(kinds.prices.norm == plain.prices.norm);
    for (int r = 0; r < plan.pipeline; ++r) {
      const auto rank = static_cast<std::size_t>(r);
      // A plain plan counts the micro-batches of all replicas, also those that only others have.
      const MemoryUse &own = kinds.evaluation.ranks[rank].memory,
                      &most = plain.evaluation.ranks[rank].memory;
      if (plan.global_batch % plan.data == 0) CHECK(own == most);
      CHECK(own.total() <= most.total());
      CHECK(kinds.evaluation.ranks[rank].time.busy == plain.evaluation.ranks[rank].time.busy);
    }
  }
  CHECK(compared > testing::least(40));
}

// Whole nodes per replica, so that a type's devices lie as those of the one type do.
TEST_CASE("replicas on two types with identical figures: the plan of one type, to the nanosecond") {
  Random random(42);
  int compared = 0;
  for (int i = 0; i < testing::draws(80); ++i) {
    const int per_node = random.between(2, 3);
    const ModelProfile model = also_on(random_model(random, 8), "twin", 1);
    ClusterSpec one = random_cluster(random, 2, per_node);
    one.device_types[0].memory = {50'000};
    ClusterSpec two = one;
    one.nodes[0].count += 2;
    add_nodes(two, "twin", 2, per_node, 50'000);
    Plan plan;
    plan.device = "gpu";
    plan.pipeline = per_node;
    set_schedule(plan, random_static_kind(random), 2);
    if (plan.stages_per_copy() > 8) continue;
    plan.data = 4;
    plan.global_batch = 4 * random.between(2, 6);
    plan.zero1 = random.coin();
    const EvaluatedPlan plain = evaluate_in_full({&model, &one, {}, {}}, plan);
    if (plain.why_not) continue;
    Plan said = plain.plan;
    said.replica_kinds = {{2, plan.global_batch / 4}, {2, plan.global_batch / 4}};
    std::vector<std::string> types(static_cast<std::size_t>(per_node), "gpu");
    types.resize(2 * types.size(), "twin");
    set_rank_devices(said, types);
    const EvaluatedPlan kinds = evaluate_in_full({&model, &two, {}, {}}, said);
    CAPTURE(plan.schedule);
    REQUIRE_FALSE(kinds.why_not);
    ++compared;
    CHECK(kinds.evaluation.step_time == plain.evaluation.step_time);
    CHECK(kinds.evaluation.step_time_high == plain.evaluation.step_time_high);
    CHECK(kinds.prices.step == plain.prices.step);
    CHECK(kinds.prices.tied_reduce == plain.prices.tied_reduce);
    for (std::size_t rank = 0; rank < kinds.evaluation.ranks.size(); ++rank) {
      const RankEvaluation& alike = plain.evaluation.ranks[rank % plain.evaluation.ranks.size()];
      CHECK(kinds.evaluation.ranks[rank].memory == alike.memory);
      CHECK(kinds.evaluation.ranks[rank].time.busy == alike.time.busy);
    }
  }
  CHECK(compared > testing::least(20));
}

TEST_CASE(
    "a plan file of unequal replicas is read as it was written, replays to the ns and holds") {
  Random random(43);
  int compared = 0;
  for (int i = 0; i < testing::draws(120); ++i) {
    const ModelProfile model = random_model_on_two(random, {8, 8}, {1, 4});
    ClusterSpec cluster = random_cluster(random, 3, 2);
    cluster.device_types[0].memory = {100'000};
    add_nodes(cluster, "old", 4, 2, 80'000);
    cluster.device_types[1].reserve = {7};
    if (random.coin()) {
      cluster.levels[0].of_types = {{1, {}, Duration{900}, {1e6}, {}, 0}};
      cluster.levels[1].of_types = {{0, {}, Duration{100}, {2e6}, {3e6}, 0}};
    }
    Plan plan;
    plan.pipeline = random.between(1, 3);
    set_schedule(plan, random_static_kind(random), 2);
    if (plan.stages_per_copy() > 8) continue;
    plan.micro_batch_size = random.between(1, 3);
    plan.zero1 = random.coin();
    plan.placement = random.coin() ? Placement::kDataInner : Placement::kPipelineInner;
    plan.replica_kinds = {{random.between(1, 2), random.between(3, 9)},
                          {random.between(1, 2), random.between(1, 7)}};
    plan.data = 0;
    std::vector<std::string> types;
    for (const ReplicaKind& kind : plan.replica_kinds) {
      plan.data += kind.replicas;
      plan.global_batch += kind.replicas * kind.samples;
      for (int r = 0; r < plan.pipeline; ++r) types.emplace_back(random.coin() ? "old" : "gpu");
    }
    plan.global_batch -= 1;  // a plan's own default
    set_rank_devices(plan, types);
    const PlanInputs inputs{&model, &cluster, {}, {}};
    CAPTURE(plan.schedule);
    EvaluatedPlan evaluated;
    try {
      evaluated = evaluate(inputs, plan);
    } catch (const Error&) {
      continue;  // too few devices of a type
    }
    if (evaluated.why_not) continue;
    ++compared;
    // Rolled up and written out, idle times by cause included.
    const EvaluatedPlan again = evaluate_in_full(inputs, evaluated.plan);
    CHECK(again.evaluation == evaluated.evaluation);
    PlanFile file = to_plan_file(inputs, evaluated);
    const PlanFile read = read_plan(write_plan(file), "p.json");
    CHECK(read.plan == file.plan);
    CHECK(read.cluster == file.cluster);
    CHECK(read.prediction == file.prediction);
    CHECK(replay_plan_file(read).evaluation == file.prediction);
    const CheckReport report = check(file);
    for (const Finding& finding : report.findings) {
      FAIL_CHECK(finding.place << ": " << finding.message);
    }
    CHECK(report.replayed == file.prediction.step_time);
    CHECK(report.memory.size() == evaluated.evaluation.ranks.size());
    // A planted wrong share is found, and so are prices of the other kind's devices.
    PlanFile planted = file;
    std::swap(planted.plan.replica_kinds[0], planted.plan.replica_kinds[1]);
    if (planted.plan.replica_kinds != file.plan.replica_kinds) {
      CHECK_FALSE(check(planted).findings.empty());
    }
    planted = file;
    planted.program.micro_batches.front().shape = planted.prices.shapes - 1;
    CHECK_FALSE(check(planted).findings.empty());
    planted = file;
    planted.prediction.ranks.back().memory.stash += Bytes{1};
    CHECK_FALSE(check(planted).findings.empty());
  }
  CHECK(compared > testing::least(40));
}

}  // namespace
}  // namespace penstock
