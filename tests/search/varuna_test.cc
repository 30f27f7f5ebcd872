// Plans with a run-time rule: evaluated, written, read back and judged by the checker, which
// carries the rule out by itself.
#include <algorithm>
#include <optional>
#include <string>

#include <doctest/doctest.h>

#include "core/check/check.h"
#include "core/values/plan_file.h"
#include "search/arranged_replay.h"
#include "search/best_plans.h"
#include "search/cut_replay.h"
#include "search/evaluate.h"
#include "tests/search/models.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::Random;
using testing::search;

TEST_CASE("plans with Varuna's rules hold before the checker") {
  Random random(42);
  int held = 0;
  for (int round = 0; round < testing::draws(200); ++round) {
    const int sections = random.between(2, 6);
    const ModelProfile model = testing::random_model(random, sections);
    ClusterSpec cluster = testing::random_cluster(random, 2, 4);
    cluster.device_types[0].memory = {1'000'000};
    Plan plan;
    for (const char* name : {"varuna", "varuna-runtime", "varuna-strict"}) {
      plan.schedule = name;
      plan.recompute = "full";
      plan.pipeline = random.between(1, std::min(sections, 4));
      plan.data = random.between(1, 2);
      plan.global_batch = plan.data * random.between(1, 12);
      plan.device = "gpu";
      const PlanInputs inputs{&model, &cluster, {}, std::nullopt};
      const EvaluatedPlan evaluated = evaluate(inputs, plan);
      if (evaluated.why_not) continue;
      ++held;
      const PlanFile file = to_plan_file(inputs, evaluated);
      const CheckReport report = check(file);
      for (const Finding& finding : report.findings)
        FAIL_CHECK(finding.place, ": ", finding.message);
      CHECK(report.replayed == evaluated.evaluation.step_time);
      const PlanFile read = read_plan(write_plan(file), "plan");
      CHECK(check(read).findings.empty());
      CHECK(replay_plan_file(read).evaluation.step_time == evaluated.evaluation.step_time);
    }
  }
  CHECK(held > testing::least(100));
}

// It runs a backward right after its forward, so it holds one micro-batch as 1F1B's last rank does
// without recompute: every activation of it, not the inputs of the sections.
TEST_CASE("Varuna's last rank keeps the activations that it does not recompute") {
  Random random(44);
  int more = 0;
  for (int round = 0; round < testing::draws(100); ++round) {
    const int sections = random.between(2, 6);
    const ModelProfile model = testing::random_model(random, sections);
    ClusterSpec cluster = testing::random_cluster(random, 2, 4);
    cluster.device_types[0].memory = {1'000'000'000};
    Plan plan;
    plan.pipeline = 2;
    plan.global_batch = random.between(2, 12);
    plan.device = "gpu";
    plan.cuts = {0, random.between(1, sections - 1), sections};
    const PlanInputs inputs{&model, &cluster, {}, std::nullopt};
    const auto last_stash = [&](const char* schedule, const char* recompute) {
      plan.schedule = schedule;
      plan.recompute = recompute;
      const EvaluatedPlan evaluated = evaluate(inputs, plan);
      return evaluated.why_not ? Bytes{-1} : evaluated.evaluation.ranks.back().memory.stash;
    };
    const Bytes kept = last_stash("1f1b", "none"), dropped = last_stash("1f1b", "full");
    const Bytes of_varuna = last_stash("varuna", "full");
    if (std::min({kept, dropped, of_varuna}) < Bytes{}) continue;  // does not run
    CHECK(of_varuna == kept);
    if (kept > dropped) ++more;
  }
  CHECK(more > testing::least(20));
}

// All cuts of a pipeline, one after the other.
std::optional<Duration> fastest_of_all_cuts(const PlanInputs& inputs, Plan plan, int sections) {
  std::optional<Duration> fastest;
  for (unsigned chosen = 0; chosen < (1U << static_cast<unsigned>(sections - 1)); ++chosen) {
    plan.cuts = {0};
    for (int cut = 1; cut < sections; ++cut) {
      if (((chosen >> static_cast<unsigned>(cut - 1)) & 1U) != 0) plan.cuts.push_back(cut);
    }
    plan.cuts.push_back(sections);
    if (static_cast<int>(plan.cuts.size()) != plan.pipeline + 1) continue;
    const EvaluatedPlan evaluated = evaluate(inputs, plan);
    if (evaluated.why_not) continue;
    const Duration step = evaluated.evaluation.step_time;
    fastest = std::min(fastest.value_or(step), step);
  }
  return fastest;
}

// Its cuts leave the last rank room for the activations that only it keeps.
TEST_CASE("Varuna fits when any cuts do, and the search finds the best of them") {
  Random random(45);
  int fit = 0, over = 0;
  for (int round = 0; round < testing::draws(400); ++round) {
    CAPTURE(round);
    const int sections = random.between(3, 6);
    const ModelProfile model = testing::random_model(random, sections);
    const ClusterSpec cluster = testing::random_cluster(random, 2, 4);
    const PlanInputs inputs{&model, &cluster, {}, std::nullopt};
    Plan plan;
    plan.schedule = random.coin() ? "varuna" : "varuna-strict";
    plan.recompute = "full";
    plan.pipeline = random.between(2, 3);
    plan.global_batch = random.between(2, 16);
    plan.device = "gpu";
    const auto fastest = fastest_of_all_cuts(inputs, plan, sections);
    (fastest ? fit : over) += 1;
    SearchRequest request;
    request.gpus = plan.pipeline;
    request.global_batch = plan.global_batch;
    request.pins.pipeline = plan.pipeline;
    request.pins.data = request.pins.tensor = request.pins.micro_batch_size = 1;
    request.pins.schedules = {plan.schedule};
    request.pins.recompute = "full";
    const SearchResult found = search(model, cluster, request);
    REQUIRE(found.best.empty() == !fastest.has_value());
    if (fastest) CHECK(found.best[0].evaluation.step_time == *fastest);
    // A prediction whose cuts are left open (`cuts=search`) fits when any do.
    plan.cuts.clear();
    CHECK(evaluate(inputs, plan).why_not.has_value() == !fastest.has_value());
  }
  CHECK(fit > testing::least(40));
  CHECK(over > testing::least(40));
}

// The same of automatic schedules, as far as the arrangement goes.
TEST_CASE("an automatic schedule whose cuts are left open fits when it does with any") {
  Random random(46);
  int fit = 0, over = 0;
  for (int round = 0; round < testing::draws(150); ++round) {
    CAPTURE(round);
    const int sections = random.between(3, 6);
    const ModelProfile model = testing::random_model(random, sections);
    const ClusterSpec cluster = testing::random_cluster(random, 2, 4);
    const PlanInputs inputs{&model, &cluster, {}, std::nullopt};
    Plan plan;
    plan.schedule = "zb-auto";
    plan.pipeline = random.between(2, 3);
    plan.global_batch = random.between(2, 12);
    plan.device = "gpu";
    const auto fastest = fastest_of_all_cuts(inputs, plan, sections);
    (fastest ? fit : over) += 1;
    plan.cuts.clear();
    const EvaluatedPlan open = evaluate(inputs, plan);
    CHECK(open.why_not.has_value() == !fastest.has_value());
    if (open.why_not) CHECK(open.why_not->reason.find("were tried") == std::string::npos);
  }
  CHECK(fit > testing::least(20));
  CHECK(over > testing::least(20));
}

// Memory between what nobody needs and more than all need, batches that replicas do not share
// evenly, and a short last micro-batch.
TEST_CASE("the search's replay by rule is that of the Program, memory limits included") {
  Random random(43);
  int fits = 0, over = 0;
  for (int round = 0; round < testing::draws(3000); ++round) {
    CAPTURE(round);
    const int sections = random.between(2, 6);
    const ModelProfile model = testing::random_model(random, sections);
    ClusterSpec cluster = testing::random_cluster(random, 2, 4);
    PlanInputs inputs{&model, &cluster, {}, std::nullopt};
    inputs.executor.per_transfer = Duration{random.between(0, 300)};
    if (random.coin()) inputs.executor.optimizer = OptimizerGate::kPostValidation;
    Plan plan;
    const char* names[] = {"varuna", "varuna-runtime", "varuna-strict"};
    plan.schedule = names[random.between(0, 2)];
    plan.recompute = "full";
    plan.pipeline = random.between(1, std::min(sections, 4));
    plan.data = random.between(1, 2);
    plan.micro_batch_size = random.between(1, 2);
    plan.global_batch = plan.data * random.between(1, 24) + random.between(0, plan.data - 1);
    plan.zero1 = random.coin();
    plan.device = "gpu";
    const EvaluatedPlan evaluated = evaluate(inputs, plan);
    if (evaluated.plan.cuts.empty()) continue;
    const ArrangedOutcome outcome = replay_arranged(inputs, evaluated.plan);
    const EvaluatedPlan again = evaluate(inputs, evaluated.plan);
    const auto by_cuts = CutReplay(inputs, evaluated.plan).run(evaluated.plan.cuts);
    REQUIRE(outcome.why_not.has_value() == again.why_not.has_value());
    if (again.why_not) CHECK(outcome.why_not->reason == again.why_not->reason);
    REQUIRE(by_cuts.has_value() == !again.why_not.has_value());
    if (!by_cuts) {
      ++over;
      continue;
    }
    ++fits;
    REQUIRE(outcome.found.step_time == again.evaluation.step_time);
    REQUIRE(outcome.found.memory == again.evaluation.peak_memory());
    REQUIRE(by_cuts->step_time == again.evaluation.step_time);
    REQUIRE(by_cuts->memory == again.evaluation.peak_memory());
  }
  CHECK(fits > testing::least(300));
  CHECK(over > testing::least(200));
}

}  // namespace
}  // namespace penstock
