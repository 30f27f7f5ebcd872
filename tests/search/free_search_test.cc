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
constexpr int kModels = testing::kWatched ? 10 : 500;

TEST_CASE("less to choose from never finds a faster plan than the free search") {
  for (std::uint64_t model = 0; model < kModels; ++model) {
    for (const std::string& wrong : beaten_by_lesser_questions(model, ModelSize::kSmall)) {
      FAIL_CHECK(wrong);
    }
  }
}

TEST_CASE("no way to shard, no ranks of experts and no trainer finds a faster one either") {
  for (std::uint64_t model = 0; model < kModels; ++model) {
    for (const std::string& wrong : beaten_by_rare_pins(model, ModelSize::kSmall)) {
      FAIL_CHECK(wrong);
    }
  }
}

// The heuristic of zb-v-auto alone finds a list for slower links that is 1.5 % faster.
TEST_CASE("nor do slower links where automatic lists are made shorter by local search") {
  CHECK(beaten_by_lesser_questions(5482, ModelSize::kSmall).empty());
}

TEST_CASE("the winner pinned to its own values is found again") {
  for (std::uint64_t model = 0; model < kModels; ++model) {
    for (const std::string& wrong : winner_not_found_again(model, ModelSize::kSmall)) {
      FAIL_CHECK(wrong);
    }
  }
}

// Where not all cuts are tried, as of the small ones.
TEST_CASE("the winner of a larger model pinned to its own values is found again") {
  for (std::uint64_t model = 0; model < (testing::kWatched ? 2 : 12); ++model) {
    for (const std::string& wrong : winner_not_found_again(model, ModelSize::kLarge)) {
      FAIL_CHECK(wrong);
    }
  }
}

TEST_CASE("asked for what is faster than a limit, a search finds its own winner or nothing") {
  for (std::uint64_t model = 0; model < (testing::kWatched ? 3 : 60); ++model) {
    for (const std::string& wrong : not_found_as_faster(model, ModelSize::kSmall)) {
      FAIL_CHECK(wrong);
    }
  }
  // Schedules are automatic, and slower plans than the limit give them their cuts: of 8 the fastest
  // ones, of 48 those within a budget of memory.
  for (const std::uint64_t model : {8U, 48U}) {
    if (testing::kWatched && model == 48) continue;
    for (const std::string& wrong : not_found_as_faster(model, ModelSize::kLarge)) {
      FAIL_CHECK(wrong);
    }
  }
}

TEST_CASE(
    "a search for a trainer is beaten by no lesser one, and says only what the trainer runs") {
  for (std::uint64_t model = 0; model < kModels; ++model) {
    for (const std::string& wrong : wrong_for_a_trainer(model, ModelSize::kSmall)) {
      FAIL_CHECK(wrong);
    }
  }
}

TEST_CASE("on one rank a backward that takes less in two parts is taken in two") {
  ModelProfile model = testing::model_of_sections({{}, {}});
  for (SectionType& type : model.section_types) {
    for (Measurement& m : type.measurements) {
      m.input_gradient = m.weight_gradient = Timing{m.forward.median, Duration{}};
      m.fused_backward = Timing{m.forward.median * 3, Duration{}};
    }
  }
  const ClusterSpec cluster = testing::cluster_of({1, 1});
  SearchRequest request;
  request.gpus = 1;
  request.global_batch = 4;
  const SearchResult free = search(model, cluster, request);
  REQUIRE_FALSE(free.best.empty());
  CHECK(free.best[0].plan.schedule == "zb-h1");
  CHECK(free.best[0].evaluation.step_time == Duration{24'000});  // 4 samples, 2 sections, 3 us each
  request.pins.schedules = {"zb-h1"};
  CHECK(search(model, cluster, request).best[0].evaluation.step_time ==
        free.best[0].evaluation.step_time);
}

// Cuts that the search never tried, and plans that it only bounded, are covered by the certificate.
TEST_CASE("no cuts of any listed plan take less than the certificate says") {
  Random random(73);
  int tried = 0;
  for (int i = 0; i < (testing::kWatched ? 4 : 40); ++i) {
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
  CHECK(tried > (testing::kWatched ? 5 : 100));
}

}  // namespace
}  // namespace penstock
