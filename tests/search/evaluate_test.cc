#include "search/evaluate.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "core/check/check.h"
#include "core/values/error.h"
#include "search/device_cluster.h"
#include "simulator/simulate.h"
#include "tests/search/models.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::cluster_of;
using testing::Costs;
using testing::model_of_sections;

struct Fixture {
  ModelProfile model = model_of_sections(std::vector<Costs>(4, Costs{1, 2, 10, 20, 5, 4}));
  ClusterSpec cluster = cluster_of({2, 2, 1'000'000, 1e9});
  PlanInputs inputs{&model, &cluster, {}, std::nullopt};
  Plan plan;

  Fixture() {
    plan.pipeline = 2;
    plan.data = 2;
    plan.global_batch = 7;
    plan.device = "gpu";
  }
  std::string refusal() {
    try {
      evaluate(inputs, plan);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }
};

TEST_CASE("an evaluated plan: prices, Program, timeline and memory belong together") {
  Fixture f;
  f.cluster.device_types[0].usd_per_hour = 3600.0;
  const EvaluatedPlan e = evaluate_in_full(f.inputs, f.plan);
  CHECK_FALSE(e.why_not);
  CHECK(e.plan.cuts == std::vector{0, 2, 4});
  CHECK(e.program.pipelines.size() == 2);  // 4 and 3 micro-batches
  CHECK(e.boundary_level == std::vector{0});
  // M = 4: (4 + 1) * 6 us, and 2c (P + M - 3 - (M - 2) / P) = 4c = 16 ns of transfers of 4 bytes;
  // 20 bytes of gradients over the two nodes in 20 ns; the norm's 4 bytes inside the nodes in 4 ns
  // and what is left of them, 2, between the nodes in 2.
  CHECK(e.evaluation.step_time == Duration{30'016 + 20 + 6});
  CHECK(e.evaluation.usd_per_step ==
        doctest::Approx(4 * 1e-9 * static_cast<double>(e.evaluation.step_time.count())));
  CHECK(e.evaluation.step_time_low < e.evaluation.step_time);
  CHECK(e.evaluation.step_time_high > e.evaluation.step_time);
  CHECK(check(to_plan_file(f.inputs, e)).findings.empty());
}

// Ranks 0 hold six activations of a chunk with 3 micro-batches, five with 4 (plan_program_test.cc).
TEST_CASE("the checker counts every replica itself") {
  Fixture f;
  f.plan.schedule = "interleaved";
  f.plan.chunks = 2;
  PlanFile file = to_plan_file(f.inputs, evaluate(f.inputs, f.plan));
  Bytes& stash = file.prediction.ranks[0].memory.stash;
  const Bytes each = file.prices.compute_of(0, 0).stash;
  CHECK(stash == each * 6);
  CHECK(check(file).findings.empty());
  stash = each * 5;
  CHECK_FALSE(check(file).findings.empty());
}

// Per section and sample: stash 10. P = 2, two sections each, b = 4.
TEST_CASE("a short last micro-batch holds what it has, by hand") {
  Fixture f;
  f.model = model_of_sections(std::vector<Costs>(4, Costs{1, 2, 0, 10}));
  f.plan.data = 1;
  f.plan.micro_batch_size = 4;
  const auto held_with = [&](int samples, const char* schedule) {
    f.plan.global_batch = samples;
    f.plan.schedule = schedule;
    const EvaluatedPlan evaluated = evaluate(f.inputs, f.plan);
    CHECK(check(to_plan_file(f.inputs, evaluated)).findings.empty());
    std::vector<std::int64_t> bytes;
    for (const RankEvaluation& rank : evaluated.evaluation.ranks) {
      bytes.push_back(rank.memory.stash.count);
    }
    return bytes;
  };
  CHECK(held_with(6, "1f1b") == std::vector<std::int64_t>{120, 80});  // 4 and 2 at once
  CHECK(held_with(5, "1f1b") == std::vector<std::int64_t>{100, 80});
  CHECK(held_with(3, "1f1b") == std::vector<std::int64_t>{60, 60});
  CHECK(held_with(10, "1f1b") == std::vector<std::int64_t>{160, 80});  // two full ones come first
  CHECK(held_with(6, "gpipe") == std::vector<std::int64_t>{120, 120});
  CHECK(held_with(4006, "gpipe") == std::vector<std::int64_t>{80'120, 80'120});
}

// Two sections of each rank take 20 bytes per sample: 6 samples fit in 120, not in 160.
TEST_CASE("a plan is not refused for what its short micro-batch does not hold") {
  Fixture f;
  f.model = model_of_sections(std::vector<Costs>(4, Costs{1, 2, 0, 10}));
  f.plan.data = 1;
  f.plan.micro_batch_size = 4;
  f.plan.global_batch = 6;
  const Bytes needed = evaluate(f.inputs, f.plan).evaluation.peak_memory();
  f.cluster.device_types[0].memory = needed;
  CHECK_FALSE(evaluate(f.inputs, f.plan).why_not);
  f.cluster.device_types[0].memory = needed - Bytes{1};
  CHECK(evaluate(f.inputs, f.plan).why_not);
}

TEST_CASE("memory of replicas that differ is what the checker counts of them") {
  testing::Random random(31);
  int compared = 0;
  for (int i = 0; i < testing::draws(300); ++i) {
    Fixture f;
    f.model = testing::random_model(random, random.between(6, 10));
    f.cluster = testing::random_cluster(random, 5, 4);
    f.cluster.device_types[0].memory = Bytes{1} * 1'000'000'000;
    testing::set_schedule(f.plan, testing::random_static_kind(random), random.between(2, 3));
    f.plan.pipeline = random.between(1, 4);
    f.plan.data = random.between(2, 5);
    f.plan.micro_batch_size = random.between(1, 4);
    f.plan.global_batch = random.between(f.plan.data, 40);
    if (has_equal_micro_batches(f.plan)) continue;
    if (f.plan.stages_per_copy() > static_cast<int>(f.model.sections.size())) continue;
    const EvaluatedPlan evaluated = evaluate(f.inputs, f.plan);
    if (evaluated.why_not) continue;
    CAPTURE(f.plan.schedule);
    CAPTURE(i);
    CHECK(check(to_plan_file(f.inputs, evaluated)).findings.empty());
    ++compared;
  }
  CHECK(compared > testing::least(50));
}

// The same Program whose groups stand in the opposite order.
void reverse_groups(Program& program) {
  const auto last = static_cast<std::uint32_t>(program.groups.size() - 1);
  std::reverse(program.groups.begin(), program.groups.end());
  for (Action& action : program.actions) {
    if (is_collective(action.kind)) action.group.value = last - action.group.value;
  }
}

struct TwoTies : Fixture {
  TwoTies() {
    model.tied_weights = {{"small", {SectionId{0}, SectionId{3}}, {{1, 2}}},
                          {"large", {SectionId{1}, SectionId{2}}, {{1, 9}}}};
  }
};

TEST_CASE("the order of groups in a Program does not matter: ties are priced by name") {
  const TwoTies f;
  const EvaluatedPlan e = evaluate_in_full(f.inputs, f.plan);
  REQUIRE(e.ties.size() == 2);
  REQUIRE(e.prices.tied_reduce[0].reduce.duration < e.prices.tied_reduce[1].reduce.duration);
  PlanFile file = to_plan_file(f.inputs, e);
  reverse_groups(file.program);
  CHECK(file.program.groups.back().name != e.program.groups.back().name);
  CHECK(simulate(file.program, file.prices, file.executor) == e.timeline);
  CHECK(replay_plan_file(file).evaluation.ranks == e.evaluation.ranks);
  CHECK(check(file).findings.empty());
}

// `text` with both words exchanged.
std::string exchanged(std::string text, const std::string& one, const std::string& other) {
  const std::size_t first = text.find(one), second = text.find(other);
  REQUIRE(first < second);
  text.replace(second, other.size(), one);
  text.replace(first, one.size(), other);
  return text;
}

// In a file, a stage's reductions of ties belong to its groups in the order of those: with both
// groups exchanged the large tie is reduced first.
TEST_CASE("a plan file whose groups stand in another order than its ties") {
  const TwoTies f;
  const PlanFile file = to_plan_file(f.inputs, evaluate(f.inputs, f.plan));
  const std::string text = exchanged(to_text(write_plan(file)), "\"tied.small\"", "\"tied.large\"");
  const PlanFile read = read_plan(parse_json(text, "t"), "t");
  CHECK(read.prices == file.prices);
  CHECK(read.program.groups != file.program.groups);
  const Replayed replayed = replay_plan_file(read);
  CHECK(replayed.evaluation.step_time == check(read).replayed);
  CHECK(replayed.evaluation.step_time == file.prediction.step_time);
}

TEST_CASE("a plan file replays to what was predicted") {
  Fixture f;
  f.plan.zero1 = true;
  f.plan.placement = Placement::kDataInner;
  f.cluster.device_types[0].usd_per_hour = 2.5;
  const EvaluatedPlan e = evaluate_in_full(f.inputs, f.plan);
  const PlanFile file = to_plan_file(f.inputs, e);
  const Replayed replayed = replay_plan_file(file);
  CHECK(replayed.timeline == e.timeline);
  CHECK(replayed.evaluation == e.evaluation);
  const PlanFile again = read_plan(parse_json(to_text(write_plan(file)), "t"), "t");
  CHECK(replay_plan_file(again).evaluation.step_time == e.evaluation.step_time);
}

TEST_CASE("a plan over memory is worked out all the same") {
  Fixture f;
  f.cluster.device_types[0].memory = {100};
  const EvaluatedPlan e = evaluate_in_full(f.inputs, f.plan);
  REQUIRE(e.why_not);
  // Two sections of 40 bytes, two micro-batches of 2 * 20, a working peak of 5, two buffers of 4.
  CHECK(e.why_not->reason == "stage 0 over memory");
  CHECK(e.why_not->least_over == Bytes{80 + 80 + 5 + 8 - 100});
  CHECK(e.evaluation.step_time > Duration{});
}

// The sections were measured with fused backwards only.
TEST_CASE("a plan rests on how backward is split when its schedule takes I and W apart") {
  Fixture f;
  f.plan.data = 1;
  f.plan.global_batch = 8;
  const auto assumptions = [&](const char* schedule, int chunks) {
    f.plan.schedule = schedule;
    f.plan.chunks = chunks;
    const EvaluatedPlan e = evaluate_in_full(f.inputs, f.plan);
    REQUIRE_FALSE(e.why_not);
    return e.evaluation.assumptions.size();
  };
  using Kind = std::pair<const char*, int>;
  for (const Kind& kind : {Kind{"zb-h1", 1}, Kind{"zb-auto", 1}, Kind{"interleaved-zb", 2},
                           Kind{"v-half", 2}, Kind{"dualpipe-v", 2}}) {
    CHECK_MESSAGE(assumptions(kind.first, kind.second) == 4,
                  kind.first);  // one per type of section
  }
  for (const Kind& kind :
       {Kind{"1f1b", 1}, Kind{"interleaved", 2}, Kind{"gpipe", 1}, Kind{"chimera", 2}}) {
    CHECK_MESSAGE(assumptions(kind.first, kind.second) == 0, kind.first);
  }
}

TEST_CASE("what cannot be priced or scheduled is a reason; nonsense is refused") {
  Fixture f;
  f.plan.recompute = "full";
  CHECK(evaluate(f.inputs, f.plan)
            .why_not->reason.starts_with("no measurement of section type 'type0'"));
  f.plan.recompute = "none";
  f.plan.schedule = "interleaved";
  CHECK(evaluate(f.inputs, f.plan).why_not->reason.starts_with("V = 1: this schedule needs"));
  f.plan.schedule = "1f1b";
  CHECK(f.refusal() == "accepted");
  f.plan.pipeline = 5;
  CHECK(f.refusal() == "P * V = 5 stages, but the model has 4 sections; choose fewer stages");
  f.plan.pipeline = 3;
  CHECK(f.refusal() == "P * D * T = 6 devices, but the cluster has 4 of type gpu");
  f.plan.pipeline = 2;
  f.plan.global_batch = 1;
  CHECK(f.refusal() ==
        "a plan needs P, V, D, T, C, EP, b of at least 1 and at least one sample per replica");
  f.plan.global_batch = 2;
  f.plan.device = "tpu";
  CHECK(f.refusal() == "cluster 'toys' has no device 'tpu'; it has: gpu");
}

TEST_CASE("the part of a cluster with one type of device") {
  ClusterSpec cluster = cluster_of({2, 8});
  DeviceType other = cluster.device_types[0];
  other.name = "old";
  other.reserve = {9};
  cluster.device_types.push_back(other);
  cluster.device_types.push_back(other);
  cluster.device_types.back().name = "unused";
  cluster.node_types.push_back({"small", 1, 4});
  cluster.nodes.push_back({1, 3});
  CHECK(device_types_in_use(cluster) == std::vector<std::string>{"gpu", "old"});
  const DeviceCluster part = device_cluster(cluster, "old", std::nullopt);
  CHECK(part.devices == 12);
  CHECK(part.devices_per_node == 4);
  CHECK(part.reserve == Bytes{9});
  CHECK(part.node_sizes == std::vector<int>{4});
  CHECK(device_cluster(cluster, "old", Bytes{1}).reserve == Bytes{1});
}

}  // namespace
}  // namespace penstock
