#include "search/improve_cuts.h"

#include <doctest/doctest.h>

#include "core/check/check.h"
#include "simulator/schedules/schedules.h"
#include "tests/search/models.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::cluster_of;
using testing::Costs;
using testing::model_of_sections;
using testing::Random;

TEST_CASE("sections move from the busiest rank while the step gets shorter") {
  // Two ranks with two chunks each; rank 1 has six of the eight sections.
  const ModelProfile model = model_of_sections(std::vector<Costs>(8, Costs{1, 2}), 1);
  const ClusterSpec cluster = cluster_of({1, 2});
  PlanInputs inputs;
  inputs.profile = &model;
  inputs.cluster = &cluster;
  Plan plan;
  plan.schedule = "interleaved";
  plan.pipeline = 2;
  plan.chunks = 2;
  plan.global_batch = 8;
  plan.device = "gpu";
  for (const std::vector<int>& cuts : {std::vector{0, 1, 4, 5, 8}, std::vector{0, 2, 5, 7, 8}}) {
    plan.cuts = cuts;
    const auto improved = improve_cuts(inputs, plan);
    REQUIRE(improved);
    // 8 * 12 us of work, (P - 1)(F + B) / V of bubble; the norm takes 1 ns.
    CHECK(improved->step_time == Duration{102'001});
    CHECK(evaluate(inputs, improved->plan).evaluation.step_time == Duration{102'001});
  }
  plan.cuts = {0, 2, 4, 6, 8};
  CHECK(improve_cuts(inputs, plan)->plan.cuts == plan.cuts);  // as good as it gets: kept
}

// The fastest of all cuts that fit.
std::optional<Duration> best_of_all(const PlanInputs& inputs, Plan plan) {
  std::optional<Duration> best;
  const int sections = static_cast<int>(inputs.profile->sections.size());
  const auto stages = static_cast<std::size_t>(plan.stages_per_copy());
  plan.cuts.assign(stages + 1, 0);
  for (std::size_t s = 0; s < stages; ++s) plan.cuts[s] = static_cast<int>(s);
  plan.cuts[stages] = sections;
  for (;;) {
    const EvaluatedPlan evaluated = evaluate(inputs, plan);
    if (!evaluated.why_not && (!best || evaluated.evaluation.step_time < *best)) {
      best = evaluated.evaluation.step_time;
    }
    std::size_t at = stages - 1;  // the next cuts in lexicographic order
    while (at > 0 && plan.cuts[at] == sections - static_cast<int>(stages - at)) --at;
    if (at == 0) return best;
    ++plan.cuts[at];
    for (std::size_t s = at + 1; s < stages; ++s) plan.cuts[s] = plan.cuts[s - 1] + 1;
  }
}

TEST_CASE("on small plans of every static schedule the best of all cuts is found") {
  Random random(51);
  int improved = 0, exact = 0, plans = 0;
  for (int i = 0; i < testing::draws(150); ++i) {
    CAPTURE(i);
    const ModelProfile model = testing::random_model(random, random.between(5, 9));
    const ClusterSpec cluster = testing::random_cluster(random, 2, 2);
    PlanInputs inputs;
    inputs.profile = &model;
    inputs.cluster = &cluster;
    Plan plan;
    plan.pipeline = 2;
    testing::set_schedule(plan, testing::random_static_kind(random), 2);
    plan.micro_batch_size = random.between(1, 2);
    plan.global_batch = random.between(1, 4) * plan.micro_batch_size * 2;
    plan.device = "gpu";
    if (plan.stages_per_copy() > static_cast<int>(model.sections.size())) continue;
    const EvaluatedPlan before = evaluate(inputs, plan);
    if (before.plan.cuts.empty())
      continue;  // its schedule cannot be combined with so many micro-batches
    const auto moved = improve_cuts(inputs, before.plan);
    if (!moved) {
      CHECK(before.why_not);
      continue;
    }
    const EvaluatedPlan after = evaluate(inputs, moved->plan);
    REQUIRE_FALSE(after.why_not);
    CHECK(after.evaluation.step_time == moved->step_time);
    CHECK(after.evaluation.peak_memory() == moved->memory);
    CHECK(check(to_plan_file(inputs, after)).findings.empty());
    if (!before.why_not) {
      CHECK(moved->step_time <= before.evaluation.step_time);
      if (moved->step_time < before.evaluation.step_time) {
        ++improved;
      } else {
        CHECK(moved->plan.cuts == before.plan.cuts);
      }
    }
    ++plans;
    const auto best = best_of_all(inputs, plan);
    REQUIRE(best);
    CHECK(moved->step_time <= *best + *best / 20);
    if (moved->step_time == *best) ++exact;
  }
  CHECK(improved > testing::least(20));
  CHECK(exact * 20 >= plans * 19);
}

TEST_CASE("no rank comes to hold more than it may") {
  // 1F1B on two ranks: rank 0 holds two micro-batches of 10 bytes a section, rank 1 one; the last
  // two sections take most time.
  std::vector<Costs> sections(6, Costs{1, 2, 0, 10});
  sections[4].forward_us = sections[5].forward_us = 2;
  const ModelProfile model = model_of_sections(sections);
  const ClusterSpec cluster = cluster_of({1, 2});
  PlanInputs inputs;
  inputs.profile = &model;
  inputs.cluster = &cluster;
  Plan plan;
  plan.pipeline = 2;
  plan.global_batch = 8;
  plan.device = "gpu";
  plan.cuts = {0, 2, 6};
  const auto free = improve_cuts(inputs, plan);
  REQUIRE(free);
  CHECK(free->plan.cuts == std::vector{0, 3, 6});  // 9 and 11 us
  CHECK(free->memory == Bytes{60});
  const auto bound = improve_cuts(inputs, plan, {200, Bytes{59}});
  REQUIRE(bound);
  CHECK(bound->plan.cuts == plan.cuts);
  CHECK_FALSE(improve_cuts(inputs, plan, {200, Bytes{39}}));
}

TEST_CASE("and moves work for schedules that are arranged or change while they run") {
  const ModelProfile model = model_of_sections(
      {{1, 2}, {1, 2}, {1, 2}, {3, 6}, {3, 6}, {1, 2}, {1, 2}, {1, 2}, {2, 5}}, 1);
  const ClusterSpec cluster = cluster_of({1, 2});
  PlanInputs inputs;
  inputs.profile = &model;
  inputs.cluster = &cluster;
  for (const char* name : {"zb-auto", "zb-v-auto", "varuna"}) {
    CAPTURE(name);
    Plan plan;
    plan.schedule = name;
    plan.pipeline = 2;
    plan.chunks = find_schedule(name)->fewest_chunks;
    plan.global_batch = 8;
    plan.device = "gpu";
    plan.recompute = "none";
    const EvaluatedPlan before = evaluate(inputs, plan);
    if (before.why_not) continue;
    Plan lopsided = before.plan;
    for (std::size_t s = 1; s + 1 < lopsided.cuts.size(); ++s) {
      lopsided.cuts[s] = static_cast<int>(s);
    }
    const auto moved = improve_cuts(inputs, lopsided);
    REQUIRE(moved);
    CHECK(moved->step_time <= before.evaluation.step_time);
    CHECK(evaluate(inputs, moved->plan).evaluation.step_time == moved->step_time);
  }
}

}  // namespace
}  // namespace penstock
