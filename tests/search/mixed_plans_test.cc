// Plans whose pipeline ranks are on devices of different types.
#include <algorithm>
#include <optional>

#include <doctest/doctest.h>

#include "core/check/check.h"
#include "core/values/plan_file.h"
#include "search/evaluate.h"
#include "search/evaluation.h"
#include "tests/core/messages.h"
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

// Nine layers of 1 us + 2 us; on "old" three times as much if nothing else is said.
struct Mixed {
  ModelProfile model = also_on(model_of_sections(std::vector<Costs>(9, Costs{})), "old", 2);
  ClusterSpec cluster = cluster_of({1, 4});
  Plan plan;
  Mixed() {
    add_nodes(cluster, "old", 2, 2, 1'000'000);
    plan.pipeline = 2;
    plan.global_batch = 4;
    set_rank_devices(plan, {"gpu", "old"});
  }
  [[nodiscard]] PlanInputs inputs() const { return {&model, &cluster, {}, {}}; }
  [[nodiscard]] EvaluatedPlan evaluated() const { return evaluate(inputs(), plan); }
};

TEST_CASE("a type twice as fast gets twice as many layers, and every rank works equally long") {
  const Mixed m;
  const EvaluatedPlan of = m.evaluated();
  REQUIRE_FALSE(of.why_not);
  CHECK(of.plan.cuts == std::vector<int>{0, 6, 9});
  // 6 x 1 us and 3 x 2 us forward, twice that backward, four micro-batches.
  CHECK(of.prices.compute_of(0, 0).forward.duration == Duration{6000});
  CHECK(of.prices.compute_of(1, 0).forward.duration == Duration{6000});
  // 1F1B of two equal stages: (M + P - 1) (f + b) = 5 x 18 us; the norm is not quite nothing.
  CHECK(of.evaluation.step_time == Duration{90'001});
  CHECK(of.evaluation.ranks[0].time.busy == of.evaluation.ranks[1].time.busy);
  CHECK(of.boundary_level == std::vector<int>{1});
}

TEST_CASE("the other way round the slow type comes first") {
  Mixed m;
  set_rank_devices(m.plan, {"old", "gpu"});
  CHECK(m.plan.device == "old");
  CHECK(m.evaluated().plan.cuts == std::vector<int>{0, 3, 9});
}

TEST_CASE("a type with little memory over memory: the reason names its stage and its type") {
  Mixed m;
  m.cluster.device_types[1].memory = {50};
  for (SectionType& type : m.model.section_types) type.parameters = {{1, 10}};
  // 40 bytes of state per layer: one layer fits, but the fast type has room for no more than
  // eight.
  CHECK(m.evaluated().plan.cuts == std::vector<int>{0, 8, 9});
  m.cluster.device_types[1].memory = {39};
  const EvaluatedPlan over = m.evaluated();
  REQUIRE(over.why_not);
  CHECK(over.why_not->reason == "the last stage (old) over memory");
  // With the balanced three layers.
  CHECK(over.why_not->least_over == Bytes{120 - 39});
  CHECK(over.evaluation.ranks[0].capacity == Bytes{1'000'000});
  CHECK(over.evaluation.ranks[1].capacity == Bytes{39});
}

TEST_CASE("boundaries get the level that really spans both ends") {
  Mixed m;
  // Devices 0-3 "gpu", 4-5 and 6-7 "old", in nodes of two: a level that joins four joins none of
  // the old nodes with each other.
  m.cluster.levels[0].bandwidth = m.cluster.levels[1].bandwidth = {1e9};
  m.cluster.levels[1].latency = Duration{500};
  m.plan.pipeline = 4;
  set_rank_devices(m.plan, {"gpu", "gpu", "old", "old"});
  CHECK(m.evaluated().boundary_level == std::vector<int>{0, 1, 0});
  m.plan.pipeline = 5;
  set_rank_devices(m.plan, {"gpu", "gpu", "old", "old", "old"});
  CHECK(m.evaluated().boundary_level == std::vector<int>{0, 1, 0, 1});
}

TEST_CASE("replicas of a rank reduce inside the nodes of its type") {
  Mixed m;
  for (LinkLevel& level : m.cluster.levels) level.bandwidth = {1e9};
  m.cluster.levels[1].latency = Duration{1'000'000};
  for (SectionType& type : m.model.section_types) type.parameters = {{1, 100}};
  m.plan.data = 2;
  m.plan.placement = Placement::kDataInner;
  m.plan.cuts = {0, 5, 9};
  const EvaluatedPlan two = m.evaluated();
  // A ring of two takes two messages of half of 500 B, 400 B, at 1 B/ns, in a node of either type.
  CHECK(two.prices.step[0].reduce_gradient.duration == Duration{500});
  CHECK(two.prices.step[1].reduce_gradient.duration == Duration{400});
  m.plan.data = 4;
  const EvaluatedPlan four = m.evaluated();
  CHECK(four.prices.step[0].reduce_gradient.duration < Duration{1'000'000});
  CHECK(four.prices.step[1].reduce_gradient.duration > Duration{2'000'000});  // two old nodes
}

TEST_CASE("the optimizer goes by the memory bandwidth of the rank's own device") {
  Mixed m;
  m.model.training.optimizer_ps_per_parameter.reset();
  for (SectionType& type : m.model.section_types) type.parameters = {{1, 1000}};
  m.cluster.device_types[1].memory_bandwidth = {0.25e12};
  m.plan.cuts = {0, 6, 9};
  const EvaluatedPlan of = m.evaluated();
  // Twice 4 bytes per parameter: 6,000 at 1 B/ps, 3,000 at a quarter of that.
  CHECK(of.prices.step[0].optimizer.duration == Duration{48});
  CHECK(of.prices.step[1].optimizer.duration == Duration{96});
}

TEST_CASE("dollars are those of every device, or nothing when one has no known price") {
  Mixed m;
  m.cluster.device_types[0].usd_per_hour = 3600.0;
  CHECK(m.evaluated().evaluation.usd_per_step == 0.0);
  m.cluster.device_types[1].usd_per_hour = 1800.0;
  // 90 us at 1.5 dollars per second.
  CHECK(m.evaluated().evaluation.usd_per_step == doctest::Approx(135e-6));
}

TEST_CASE("dollars count the tensor ranks and the replicas of each type") {
  Mixed m;
  m.plan.tensor = 4;
  m.plan.data = 3;
  // A second on 12 devices at a dollar and 12 at half of it.
  const auto prices = PerRank<double>::of_each({3600.0, 1800.0});
  CHECK(usd_per_step(std::chrono::seconds(1), m.plan, prices) == doctest::Approx(18.0));
  CHECK(usd_per_step(std::chrono::seconds(1), m.plan, 3600.0) == doctest::Approx(24.0));
}

TEST_CASE("mixed plans that cannot be are refused") {
  Mixed m;
  const auto refusal = [&]() -> std::string {
    return tests::message_of([&] { static_cast<void>(m.evaluated()); });
  };
  m.plan.data = 5;
  m.plan.global_batch = 5;
  CHECK(refusal() == "1 ranks * D * T = 5 devices, but the cluster has 4 of type gpu");
  m.plan.data = 1;
  m.plan.rank_devices = {"gpu"};
  CHECK(refusal() == "a mixed plan needs a device type for each of its 2 pipeline ranks, not 1");
  m.plan.rank_devices = {"gpu", "new"};
  CHECK(refusal() == "cluster 'toys' has no device 'new'; it has: gpu old");
  m.plan.rank_devices = {"old", "old"};
  CHECK(m.evaluated().plan.device == "old");
  CHECK_FALSE(m.evaluated().plan.is_mixed());
}

TEST_CASE("a mixed plan file is read as it was written, replays to the ns and holds") {
  Random random(31);
  for (int i = 0; i < testing::draws(60); ++i) {
    const ModelProfile model = random_model_on_two(random, {8, 8}, {1, 4});
    ClusterSpec cluster = random_cluster(random, 2, 2);
    cluster.device_types[0].memory = {100'000};
    add_nodes(cluster, "old", 3, 2, 80'000);
    cluster.device_types[1].reserve = {7};
    Plan plan;
    const ScheduleKind& kind = random_static_kind(random);
    plan.pipeline = random.between(2, 4);
    set_schedule(plan, kind, random.between(2, 2));
    plan.data = random.between(1, 2) == 1 || plan.pipeline > 2 ? 1 : 2;
    plan.global_batch = plan.data * random.between(4, 9);
    plan.zero1 = random.coin();
    std::vector<std::string> types(static_cast<std::size_t>(plan.pipeline), "gpu");
    types[static_cast<std::size_t>(random.between(0, plan.pipeline - 1))] = "old";
    set_rank_devices(plan, types);
    const PlanInputs inputs{&model, &cluster, {}, {}};
    CAPTURE(plan.schedule);
    const EvaluatedPlan evaluated = evaluate(inputs, plan);
    if (evaluated.why_not) continue;
    PlanFile file = to_plan_file(inputs, evaluated);
    CHECK(file.cluster.other_devices.size() == 1);
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
    // A planted wrong capacity: that of the other type.
    const auto rank = static_cast<std::size_t>(random.between(0, plan.pipeline - 1));
    Bytes& capacity = file.prediction.ranks[rank].capacity;
    capacity = capacity == Bytes{100'000} ? Bytes{80'000} : Bytes{100'000};
    const CheckReport planted = check(file);
    REQUIRE(planted.findings.size() == 1);
    CHECK(planted.findings[0].place == "rank " + std::to_string(rank));
  }
}

// The first nodes of "gpu" are exactly filled by its ranks; the others' nodes are next in line.
TEST_CASE("two types with identical figures: the plan of one type, to the nanosecond") {
  Random random(32);
  int compared = 0;
  for (int i = 0; i < testing::draws(80); ++i) {
    const ModelProfile model = also_on(random_model(random, 8), "twin", 1);
    const int per_node = 1 << random.between(0, 2);
    ClusterSpec mixed = random_cluster(random, random.between(1, 2), per_node);
    mixed.device_types[0].memory = {random.between(2000, 50'000)};
    ClusterSpec one = mixed;
    const int gpus = mixed.nodes[0].count * per_node;
    const int more = random.between(1, 2);
    add_nodes(mixed, "twin", more, per_node, mixed.device_types[0].memory.count);
    one.nodes[0].count += more;
    Plan plan;
    plan.device = "gpu";
    plan.tensor = gpus % 2 == 0 && per_node % 2 == 0 ? random.between(1, 2) : 1;
    std::vector<int> divisors;
    for (int d = 1; d <= gpus / plan.tensor; ++d) {
      if (gpus / plan.tensor % d == 0 && more * per_node / plan.tensor >= d) divisors.push_back(d);
    }
    plan.data = divisors[static_cast<std::size_t>(
        random.between(0, static_cast<int>(divisors.size()) - 1))];
    const int first = gpus / plan.tensor / plan.data;
    plan.pipeline = first + random.between(1, more * per_node / plan.tensor / plan.data);
    const ScheduleKind& kind = random_static_kind(random);
    set_schedule(plan, kind, 2);
    if (plan.stages_per_copy() > 8) continue;
    plan.placement =
        plan.data > 1 || random.coin() ? Placement::kDataInner : Placement::kPipelineInner;
    plan.global_batch = plan.data * random.between(2, 9);
    plan.micro_batch_size = random.between(1, 2);
    plan.zero1 = random.coin();
    const EvaluatedPlan uniform = evaluate_in_full({&model, &one, {}, {}}, plan);
    std::vector<std::string> types(static_cast<std::size_t>(first), "gpu");
    types.resize(static_cast<std::size_t>(plan.pipeline), "twin");
    set_rank_devices(plan, types);
    const EvaluatedPlan two = evaluate_in_full({&model, &mixed, {}, {}}, plan);
    CAPTURE(plan.schedule);
    REQUIRE(uniform.why_not.has_value() == two.why_not.has_value());
    if (uniform.program.actions.empty()) continue;
    ++compared;
    CHECK(two.plan.cuts == uniform.plan.cuts);
    CHECK(two.prices == uniform.prices);
    CHECK(two.boundary_level == uniform.boundary_level);
    CHECK(two.timeline == uniform.timeline);
    CHECK(two.evaluation.step_time == uniform.evaluation.step_time);
    CHECK(two.evaluation.ranks == uniform.evaluation.ranks);
    CHECK(two.evaluation.step_time_high == uniform.evaluation.step_time_high);
  }
  CHECK(compared > testing::least(20));
}

// That a type's ranks are in a row is a restriction. Within it the search finds the best; on these
// random models, whose boundaries and memory differ a lot, the best of all assignments is sometimes
// faster (docs/search.md, "Not exact").
TEST_CASE(
    "every assignment of types to ranks: the search finds the best in which types are in a row") {
  Random random(33);
  int better_apart = 0, mixed = 0;
  double most_gained = 0.0;
  for (int i = 0; i < 25; ++i) {
    CAPTURE(i);
    const ModelProfile model = also_on(random_model(random, random.between(3, 6)), "old", 2);
    ClusterSpec cluster = random_cluster(random, 1, 2);
    cluster.device_types[0].memory = {4000};
    add_nodes(cluster, "old", 1, 2, random.between(1000, 4000));
    SearchRequest request;
    request.gpus = 4;
    request.global_batch = random.between(2, 8);
    request.pins.schedules = {"1f1b"};
    request.pins.data = request.pins.tensor = request.pins.micro_batch_size = 1;
    request.pins.recompute = "none";
    const SearchResult found = testing::search(model, cluster, request);
    const PlanInputs inputs{&model, &cluster, {}, {}};
    std::optional<Duration> best, best_in_a_row;
    for (int pipeline = 1; pipeline <= 4; ++pipeline) {
      for (int assignment = 0; assignment < 1 << pipeline; ++assignment) {
        std::vector<std::string> types;
        int changes = 0, old = 0;
        for (int r = 0; r < pipeline; ++r) {
          types.emplace_back((assignment >> r & 1) != 0 ? "old" : "gpu");
          old += assignment >> r & 1;
          changes += r > 0 && types.back() != types[types.size() - 2] ? 1 : 0;
        }
        if (old > 2 || pipeline - old > 2 || pipeline > static_cast<int>(model.sections.size())) {
          continue;
        }
        Plan plan;
        plan.pipeline = pipeline;
        plan.global_batch = request.global_batch;
        set_rank_devices(plan, types);
        const EvaluatedPlan of = evaluate(inputs, plan);
        if (of.why_not) continue;
        const Duration step = of.evaluation.step_time;
        if (!best || step < *best) best = step;
        if (changes <= 1 && (!best_in_a_row || step < *best_in_a_row)) best_in_a_row = step;
      }
    }
    REQUIRE(found.best.empty() == !best_in_a_row.has_value());
    if (found.best.empty()) continue;
    // V = 1 by the schedule: bottlenecks are exact, and the best plans have their cuts improved.
    CHECK(found.best[0].evaluation.step_time <= *best_in_a_row);
    mixed += found.best[0].plan.is_mixed() ? 1 : 0;
    better_apart += *best < *best_in_a_row ? 1 : 0;
    const auto in_a_row = static_cast<double>(best_in_a_row->count());
    most_gained = std::max(most_gained, 1.0 - static_cast<double>(best->count()) / in_a_row);
  }
  CHECK(mixed > 10);
  CHECK(better_apart == 6);
  CHECK(most_gained < 0.07);
}

}  // namespace
}  // namespace penstock
