#include <set>

#include <doctest/doctest.h>

#include "core/check/check.h"
#include "core/values/sharding.h"
#include "search/best_plans.h"
#include "search/evaluate.h"
#include "search/memory.h"
#include "search/plan_program.h"
#include "search/sharding_choices.h"
#include "tests/search/models.h"

namespace penstock {
namespace {

using testing::cluster_of;
using testing::Costs;
using testing::model_of_sections;
using testing::search;

constexpr ShardingChoice kZero1{true, Sharding::kState}, kZero2{true, Sharding::kGradients},
    kZero3{true, Sharding::kParameters}, kFsdp{true, Sharding::kFsdp};

// Four sections of F 1 and B 2 us with 10 parameters each, of 1 byte, gradients of 1 and an
// optimizer of 2; between two devices 10 bytes are gathered or scattered in 5 ns.
struct Fixture {
  ModelProfile model = model_of_sections(std::vector<Costs>(4, Costs{1, 2, 10}));
  ClusterSpec cluster = cluster_of({1, 2, 1'000'000, 1e9});
  PlanInputs inputs{&model, &cluster, {}, std::nullopt};
  Plan plan;

  explicit Fixture(const ShardingChoice& choice = kZero3) {
    plan.data = 2;
    plan.global_batch = 8;
    plan.device = "gpu";
    set_sharding(choice, plan);
  }
  [[nodiscard]] EvaluatedPlan evaluated() const { return evaluate_in_full(inputs, plan); }
  [[nodiscard]] std::string why_not() const {
    const EvaluatedPlan result = evaluated();
    return result.why_not ? result.why_not->reason : "";
  }
};

// Of each of four micro-batches F 5 + 4,000 and B 8,000 + 5; then the norm's 4 bytes.
TEST_CASE("without a pipeline ZeRO-3 gathers and reduces in every micro-batch") {
  const EvaluatedPlan e = Fixture().evaluated();
  REQUIRE_FALSE(e.why_not);
  CHECK(e.evaluation.step_time == Duration{4 * (4'005 + 8'005) + 4});
  CHECK(e.prices.compute[0].forward_sharded == Duration{5});
  CHECK(e.prices.compute[0].backward_sharded == Duration{5});
  for (const Action& action : e.program.actions) {
    CHECK(action.kind != ActionKind::kReduceGradient);
    CHECK(action.kind != ActionKind::kUnshard);
  }
  // Half of 40, 40 and 80 bytes, and the buffers of three sections beside each other: 10 of the
  // weights, 10 gathered, 10 of gradients, 10 reduced.
  const MemoryUse& use = e.evaluation.ranks[0].memory;
  CHECK(use.parameters == Bytes{20});
  CHECK(use.gradients == Bytes{20});
  CHECK(use.optimizer_state == Bytes{40});
  CHECK(use.communication == Bytes{40});
}

// Of each micro-batch four gathers before the forwards, three before the backwards, whose last
// section is still whole, and four scatters: 5 ns each.
TEST_CASE("a processor that carries its messages itself hides nothing of ZeRO-3") {
  Fixture fixture;
  fixture.cluster.measured_executor = MeasuredExecutor{};
  CHECK(fixture.evaluated().prices.compute[0].forward_sharded == Duration{5});  // not asked for
  fixture.cluster.measured_executor->is_priced = true;
  const EvaluatedPlan e = fixture.evaluated();
  REQUIRE_FALSE(e.why_not);
  CHECK(e.prices.compute[0].forward_sharded == Duration{4 * 5});
  CHECK(e.prices.compute[0].backward_sharded == Duration{(3 + 4) * 5});
  CHECK(e.evaluation.step_time == Duration{4 * (4'020 + 8'035) + 4});
}

// B 8,000 + 5; at the end of the step 40 bytes are gathered in 20 ns.
TEST_CASE("ZeRO-2 reduces in every micro-batch and gathers once per step") {
  const EvaluatedPlan e = Fixture(kZero2).evaluated();
  REQUIRE_FALSE(e.why_not);
  CHECK(e.evaluation.step_time == Duration{4 * (4'000 + 8'005) + 4 + 20});
}

// Groups in a node: 5 ns each way there, and half of each gradient, 5 bytes, summed between the
// nodes in 5 ns. The norm takes 4 ns in the nodes and 2 between them.
TEST_CASE("groups of shards sum their parts over the groups") {
  Fixture f({true, Sharding::kParameters, 2});
  f.cluster = cluster_of({2, 2, 1'000'000, 1e9});
  f.plan.data = 4;
  const EvaluatedPlan e = f.evaluated();
  REQUIRE_FALSE(e.why_not);
  CHECK(e.evaluation.step_time == Duration{2 * (4'005 + 8'010) + 6});
  CHECK(e.evaluation.ranks[0].memory.optimizer_state == Bytes{40});  // of 80, not 20
}

TEST_CASE("what takes longer than the compute beside it shows") {
  Fixture f;
  f.cluster = cluster_of({1, 2, 1'000'000, 4e6});  // 10 bytes in 1,250 ns
  const EvaluatedPlan plain = f.evaluated();
  // F: 1,250 + 3 * 1,250 + 1,000; B: max(2,000, 1,250) + 2 * 2,500 + max(2,000, 1,250) + 1,250.
  CHECK(plain.prices.compute[0].forward.duration == Duration{6'000});
  CHECK(plain.prices.compute[0].fused_backward.duration == Duration{10'250});
}

TEST_CASE("plans that shard are written, read, checked and replayed as they were predicted") {
  for (const ShardingChoice& choice : {kZero1, kZero2, kZero3, kFsdp}) {
    const Fixture f(choice);
    CAPTURE(sharding_words(f.plan));
    const EvaluatedPlan e = f.evaluated();
    REQUIRE_FALSE(e.why_not);
    const PlanFile file = to_plan_file(f.inputs, e);
    CHECK(check(file).findings.empty());
    const PlanFile again = read_plan(parse_json(to_text(write_plan(file)), "t"), "t");
    CHECK(again.plan == e.plan);
    CHECK(again.prices == e.prices);
    CHECK(replay_plan_file(again).evaluation.step_time == e.evaluation.step_time);
  }
}

TEST_CASE("the search's own sums hold what the prices hold") {
  for (const ShardingChoice& choice : {kZero1, kZero2, kZero3, kFsdp}) {
    const Fixture f(choice);
    const EvaluatedPlan e = f.evaluated();
    const SectionSums sums = sum_sections(f.model, f.cluster, "gpu", 1, 1, 0, "none");
    const TiedParameters ties(f.model, 1);
    const HeldCounts held = exactly_held_of(e.plan);
    const StageMemory memory(sums, ties, {f.model.training, e.plan}, held, Bytes{0},
                             Bytes{1'000'000});
    CHECK(memory.total(0, 0, 4) == e.evaluation.ranks[0].memory.total());
  }
}

TEST_CASE("with a pipeline FSDP does what ZeRO-1 does, and holds its shards besides") {
  Fixture zero1(kZero1), fsdp(kFsdp);
  zero1.cluster = fsdp.cluster = cluster_of({1, 4, 1'000'000, 1e9});
  zero1.plan.pipeline = fsdp.plan.pipeline = 2;
  const EvaluatedPlan a = zero1.evaluated(), b = fsdp.evaluated();
  REQUIRE_FALSE(b.why_not);
  CHECK(a.evaluation.step_time == b.evaluation.step_time);
  CHECK(a.evaluation.peak_memory() < b.evaluation.peak_memory());
  CHECK(check(to_plan_file(fsdp.inputs, b)).findings.empty());
}

TEST_CASE("what cannot be sharded says why") {
  Fixture pipeline;
  pipeline.cluster = cluster_of({1, 4, 1'000'000, 1e9});
  pipeline.plan.pipeline = 2;
  CHECK(pipeline.why_not() == "ZeRO-3 has no pipeline (DeepSpeed's refuses it): choose PP = 1");
  Fixture uneven(kFsdp);
  uneven.plan.global_batch = 7;
  CHECK(uneven.why_not().starts_with(
      "ZeRO-2, ZeRO-3 and FSDP need the same micro-batches in every replica"));
  Fixture divided(kFsdp);
  divided.plan.schedule = "zb-h1";
  CHECK(divided.why_not().starts_with("zb-h1 divides the backward"));
  CHECK(Fixture({true, Sharding::kFsdp, 3}).why_not() ==
        "groups of 3 shards do not divide the 2 holders of a stage's weights");
  CHECK(Fixture({true, Sharding::kState, 2}).why_not() ==
        "groups of shards are for FSDP and ZeRO-3");
}

TEST_CASE("a checker finds what a plan file says wrongly of its shards") {
  const Fixture f;
  PlanFile file = to_plan_file(f.inputs, f.evaluated());
  const auto finds = [&](const char* place) {
    for (const Finding& finding : check(file).findings) {
      if (finding.place == place) return true;
    }
    return false;
  };
  const PlanFile good = file;
  file.plan.shard_group = 3;
  CHECK(finds("/plan/shard_group"));
  file = good;
  file.plan.zero1 = false;
  CHECK(finds("/plan/sharding"));
  file = good;
  file.plan.sharding = Sharding::kState;  // then nothing gathers section by section
  CHECK(finds("/prices"));
  file = good;
  file.prices.compute[0].forward_sharded = file.prices.compute[0].forward.duration * 2;
  CHECK(finds("/prices"));
}

TEST_CASE("a search tries all ways to shard where there is no pipeline, and what is pinned only") {
  const Fixture f;
  SearchRequest request;
  request.gpus = request.global_batch = 2;
  request.top = 100;
  std::set<Sharding> tried;
  for (const RankedPlan& ranked : search(f.model, f.cluster, request).best) {
    if (ranked.plan.sharding == Sharding::kState) continue;
    CHECK(ranked.plan.pipeline == 1);
    tried.insert(ranked.plan.sharding);
  }
  CHECK(tried.size() == 3);
  request.pins.sharding = Sharding::kParameters;
  for (const RankedPlan& ranked : search(f.model, f.cluster, request).best) {
    CHECK((ranked.plan.data == 1 || ranked.plan.sharding == Sharding::kParameters));
  }
}

// Four replicas: in two groups of two, and over all of them.
TEST_CASE("shards lie in groups of every size that divides the holders") {
  SearchRequest request;
  const auto groups = [&](int holders) {
    std::set<int> sizes;
    for (const ShardingChoice& choice : sharding_choices(request, 1, holders)) {
      if (choice.sharding >= Sharding::kParameters) sizes.insert(choice.group);
    }
    return sizes;
  };
  CHECK(groups(4) == std::set{0, 2});
  CHECK(groups(12) == std::set{0, 2, 3, 4, 6});
  CHECK(groups(7) == std::set{0});
  CHECK(sharding_choices(request, 2, 12).size() == 2);  // ZeRO-1 and none
}

TEST_CASE("a pinned group of shards needs as many replicas") {
  const ModelProfile model = model_of_sections(std::vector<Costs>(4, Costs{1, 2, 10}));
  const ClusterSpec cluster = cluster_of({1, 4, 1'000'000, 1e9});
  SearchRequest request;
  request.gpus = 4;
  request.global_batch = 8;
  request.top = 1'000;
  request.pins.zero1 = true;
  request.pins.sharding = Sharding::kFsdp;
  request.pins.shard_group = 2;
  const SearchResult found = search(model, cluster, request);
  CHECK_FALSE(found.best.empty());
  for (const RankedPlan& ranked : found.best) {
    CHECK(ranked.plan.shards() == 2);  // never one replica, which shares with nobody
  }
  request.pins.data = 1;
  CHECK(search(model, cluster, request).best.empty());
}

TEST_CASE("a slower link makes no sharded plan faster") {
  for (const ShardingChoice& choice : {kZero2, kZero3, kFsdp}) {
    Fixture f(choice);
    Duration last{};
    for (const double bandwidth : {1e10, 1e9, 1e8, 1e7, 1e6}) {
      f.cluster = cluster_of({1, 2, 1'000'000, bandwidth});
      const Duration step = f.evaluated().evaluation.step_time;
      CHECK(step >= last);
      last = step;
    }
  }
}

}  // namespace
}  // namespace penstock
