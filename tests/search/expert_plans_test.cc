#include <doctest/doctest.h>

#include "core/check/check.h"
#include "search/best_plans.h"
#include "search/evaluate.h"
#include "search/memory.h"
#include "search/plan_program.h"
#include "tests/search/models.h"

namespace penstock {
namespace {

using testing::cluster_of;
using testing::Costs;
using testing::model_of_sections;

// Four sections of F 1 and B 2 us. All but the first have 40 parameters, 32 of them in 4 experts,
// of which a token visits 2; one copy of a rank's tokens is 10 bytes. Two ranks of experts send one
// copy each: 2 (1 - 1 / 2); 1 byte takes 1 ns.
ModelProfile model_with_experts(std::int64_t stash = 0) {
  ModelProfile model = model_of_sections(
      {Costs{1, 2, 10}, {1, 2, 40, stash}, {1, 2, 40, stash}, {1, 2, 40, stash}}, 2);
  for (std::size_t i = 1; i < model.section_types.size(); ++i) {
    SectionType& type = model.section_types[i];
    type.expert_parameters = 32;
    const std::vector<Measurement> rows = type.measurements;
    for (const int ranks : {2, 4}) {
      for (Measurement row : rows) {
        row.sequence_length = rows.front().sequence_length;
        row.expert_degree = ranks;
        ExpertTraffic traffic;
        traffic.dispatched = traffic.combined = Bytes{10 * row.micro_batch_size};
        traffic.experts = 4;
        traffic.visited = 2;
        traffic.once = false;
        row.experts = traffic;
        type.measurements.push_back(row);
      }
    }
  }
  return model;
}

struct Fixture {
  ModelProfile model;
  ClusterSpec cluster = cluster_of({1, 2, 1'000'000, 1e9});
  PlanInputs inputs{&model, &cluster, {}, std::nullopt};
  Plan plan;

  explicit Fixture(bool zero1 = false, std::int64_t stash = 0) : model(model_with_experts(stash)) {
    plan.data = 2;
    plan.expert = 2;
    plan.global_batch = 8;
    plan.device = "gpu";
    plan.zero1 = zero1;
    plan.placement = Placement::kDataInner;
  }
};

}  // namespace

// Three sections with experts: 20 ns there and back in F and in B. Each rank reduces 10 + 3 * 8
// gradients with the other one (34 ns) and no expert's; the norm's 4 bytes take 4 ns.
TEST_CASE("tokens travel in F and in B, and only the rest of the gradients is reduced") {
  const Fixture f;
  const EvaluatedPlan e = evaluate_in_full(f.inputs, f.plan);
  REQUIRE_FALSE(e.why_not);
  CHECK(e.prices.compute[0].forward_experts == Duration{60});
  CHECK(e.prices.compute[0].backward_experts == Duration{60});
  CHECK(e.prices.compute[0].overlap_gain == Duration{120});
  CHECK(e.evaluation.step_time == Duration{4 * (4'060 + 8'060) + 34 + 4});
  // 34 parameters besides 3 * 16 of experts, of 1 byte, gradients of 1, an optimizer of 2.
  CHECK(e.evaluation.ranks[0].memory.parameters == Bytes{82});
  CHECK(e.evaluation.ranks[0].memory.optimizer_state == Bytes{164});
}

TEST_CASE("ZeRO-1 divides what two ranks hold, and not the experts that one has") {
  const Fixture f(true);
  const EvaluatedPlan e = evaluate_in_full(f.inputs, f.plan);
  REQUIRE_FALSE(e.why_not);
  CHECK(e.evaluation.ranks[0].memory.optimizer_state == Bytes{34 + 96});
}

TEST_CASE("plans with experts are written, read, checked and replayed as they were predicted") {
  for (const bool zero1 : {false, true}) {
    const Fixture f(zero1);
    const EvaluatedPlan e = evaluate_in_full(f.inputs, f.plan);
    REQUIRE_FALSE(e.why_not);
    const PlanFile file = to_plan_file(f.inputs, e);
    CHECK(check(file).findings.empty());
    const PlanFile again = read_plan(parse_json(to_text(write_plan(file)), "t"), "t");
    CHECK(again.plan == e.plan);
    CHECK(again.prices == e.prices);
    CHECK(replay_plan_file(again).evaluation.step_time == e.evaluation.step_time);
  }
}

TEST_CASE("the checker refuses experts whose ranks do not divide those of a stage") {
  const Fixture f;
  PlanFile file = to_plan_file(f.inputs, evaluate_in_full(f.inputs, f.plan));
  file.plan.expert = 4;
  CHECK_FALSE(check(file).findings.empty());
  file.plan.expert = 1;  // then nothing travels
  CHECK_FALSE(check(file).findings.empty());
}

TEST_CASE("the search's own sums hold what the prices hold") {
  const Fixture f(true, 100);
  const EvaluatedPlan e = evaluate_in_full(f.inputs, f.plan);
  const SectionSums sums =
      sum_sections(f.model, f.cluster, "gpu", 1, 1, 0, "none", f.plan.other_degrees());
  const TiedParameters ties(f.model, 1);
  const HeldCounts held = exactly_held_of(e.plan);
  const StageMemory memory(sums, ties, {f.model.training, e.plan}, held, Bytes{0},
                           Bytes{1'000'000});
  CHECK(memory.total(0, 0, 4) == e.evaluation.ranks[0].memory.total());
}

// The less memory, the more ranks have the experts between them.
TEST_CASE("bounds lose no plan with experts on ranks of their own") {
  for (const std::int64_t memory : {260, 300, 460}) {
    CAPTURE(memory);
    Fixture f(false, 20);
    f.cluster = cluster_of({2, 2, memory, 1e8});
    SearchRequest request;
    request.gpus = 4;
    request.global_batch = 8;
    request.threads = 1;
    request.top = 4;
    SearchProgress progress;
    const SearchResult bounded = best_plans(f.inputs, request, progress);
    request.bounds = false;
    const SearchResult all = best_plans(f.inputs, request, progress);
    REQUIRE(bounded.best.size() == all.best.size());
    for (std::size_t i = 0; i < all.best.size(); ++i) {
      CHECK(bounded.best[i].plan == all.best[i].plan);
      CHECK(bounded.best[i].evaluation.step_time == all.best[i].evaluation.step_time);
      const EvaluatedPlan e = evaluate_in_full(f.inputs, all.best[i].plan);
      CHECK(check(to_plan_file(f.inputs, e)).findings.empty());
    }
    REQUIRE_FALSE(all.best.empty());
    const int ranks = memory == 260 ? 4 : memory == 300 ? 2 : 1;
    CHECK(all.best.front().plan.expert == ranks);
  }
}

// Six replicas, two ranks with the experts between them: a group of three shards would have one and
// a half of these, one of two has one.
TEST_CASE("shards lie in no groups that do not hold whole experts") {
  const ModelProfile model = model_with_experts();
  const ClusterSpec cluster = cluster_of({1, 6, 1'000'000, 1e9});
  SearchRequest request;
  request.gpus = request.global_batch = 6;
  request.top = 100;
  request.pins.pipeline = 1;
  request.pins.data = 6;
  request.pins.expert = 2;
  int in_groups = 0;
  for (const RankedPlan& ranked : testing::search(model, cluster, request).best) {
    CHECK(ranked.evaluation.step_time > Duration{});
    CHECK(ranked.plan.shard_group != 3);
    in_groups += ranked.plan.shard_group == 2 ? 1 : 0;
  }
  CHECK(in_groups > 0);
  request.pins.sharding = Sharding::kParameters;
  request.pins.shard_group = 3;
  const SearchResult none = testing::search(model, cluster, request);
  CHECK(none.best.empty());
  REQUIRE(none.rejected.size() == 1);
  CHECK(none.rejected[0].reason.find("do not hold whole experts") != std::string::npos);
}

}  // namespace penstock
