// A short last micro-batch counts with what it holds, also while the search sorts out candidates.
#include <algorithm>
#include <optional>
#include <vector>

#include <doctest/doctest.h>

#include "search/best_plans.h"
#include "search/choose_cuts.h"
#include "search/evaluate.h"
#include "tests/search/models.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::Random;

ModelProfile random_sections(Random& random, int sections) {
  std::vector<testing::Costs> costs;
  costs.reserve(static_cast<std::size_t>(sections));
  for (int s = 0; s < sections; ++s) {
    costs.push_back({random.between(1, 9), random.between(1, 9), random.between(1, 20),
                     random.between(1, 60), random.between(0, 9), random.between(0, 3)});
  }
  return testing::model_of_sections(costs);
}

std::optional<Duration> fastest_of_all_cuts(const PlanInputs& inputs, Plan plan, int sections) {
  std::optional<Duration> fastest;
  plan.cuts = first_cuts(sections, plan.stages());
  do {
    const EvaluatedPlan evaluated = evaluate(inputs, plan);
    if (evaluated.why_not) continue;
    const Duration step = evaluated.evaluation.step_time;
    fastest = std::min(fastest.value_or(step), step);
  } while (next_cuts(plan.cuts));
  return fastest;
}

SearchRequest pinned_to(const Plan& plan) {
  SearchRequest request;
  request.gpus = plan.pipeline;
  request.global_batch = plan.global_batch;
  request.pins.pipeline = plan.pipeline;
  request.pins.chunks = plan.chunks;
  request.pins.micro_batch_size = plan.micro_batch_size;
  request.pins.schedules = {plan.schedule};
  return request;
}

// By brute force over the cuts, on memory that is mostly just enough or not quite.
TEST_CASE("a search finds the plan that only a short last micro-batch lets fit") {
  Random random(71);
  int fit = 0, over = 0, by_the_last = 0;
  for (int round = 0; round < testing::draws(600); ++round) {
    CAPTURE(round);
    const int sections = random.between(3, 6);
    const ModelProfile model = random_sections(random, sections);
    Plan plan;
    plan.schedule = random.coin() ? "gpipe" : "1f1b";
    plan.pipeline = random.between(2, 3);
    plan.micro_batch_size = random.between(2, 4);
    const int full = random.between(1, 3) * plan.micro_batch_size;
    plan.global_batch = full + random.between(1, plan.micro_batch_size - 1);
    plan.device = "gpu";
    const ClusterSpec cluster =
        testing::cluster_of({1, plan.pipeline, random.between(200, 1200), 1e6});
    const PlanInputs inputs{&model, &cluster, {}, std::nullopt};
    const auto fastest = fastest_of_all_cuts(inputs, plan, sections);
    (fastest ? fit : over) += 1;
    const SearchResult found = testing::search(model, cluster, pinned_to(plan));
    REQUIRE(found.best.empty() == !fastest.has_value());
    if (fastest) CHECK(found.best[0].evaluation.step_time == *fastest);
    CHECK(evaluate(inputs, plan).why_not.has_value() == !fastest.has_value());

    Plan longer = plan;
    longer.global_batch = full + plan.micro_batch_size;
    if (fastest && !fastest_of_all_cuts(inputs, longer, sections)) ++by_the_last;
  }
  CHECK(fit > testing::least(100));
  CHECK(over > testing::least(100));
  CHECK(by_the_last > testing::least(20));
}

}  // namespace
}  // namespace penstock
