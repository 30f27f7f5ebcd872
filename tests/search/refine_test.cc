// Automatic schedules and run-time rules in the search, and what trainers can run.
#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

#include "search/best_plans.h"
#include "tests/search/models.h"
#include "tests/watched.h"
#include "trainers/trainer_table.h"

namespace penstock {
namespace {

SearchRequest gpt_on(int gpus, int global_batch) {
  SearchRequest request;
  request.gpus = gpus;
  request.global_batch = global_batch;
  request.sequence_length = 2048;
  return request;
}

// What is watched is how plans are arranged, not how many there are.
void pin_few(SearchRequest& request) {
  request.pins.tensor = 4;
  request.pins.micro_batch_size = 1;
}

TEST_CASE("what is arranged or ruled at run time fits, and holds before the judge") {
  std::vector<const char*> names{"zb-2p", "zb-auto", "varuna"};
  if (!testing::kWatched) names.insert(names.end(), {"zb-1p", "zb-v-auto", "varuna-strict"});
  for (const char* name : names) {
    CAPTURE(name);
    SearchRequest request = gpt_on(16, testing::kWatched ? 16 : 64);
    if (testing::kWatched) pin_few(request);
    request.pins.schedules = {name};
    request.top = 3;
    const SearchResult result = testing::search(testing::gpt(), testing::p4d(), request);
    REQUIRE_FALSE(result.best.empty());
    CHECK(result.best.size() <= 3);
    for (const RankedPlan& ranked : result.best) CHECK(ranked.plan.schedule == name);
    testing::check_result(testing::gpt(), testing::p4d(), result);
  }
}

// Under the memory that a plan leaves, the best of many arrangements is no worse than ZB-H1 or
// 1F1B, up to a ten-thousandth: what follows the last W (reductions, the optimizer) is not weighed.
TEST_CASE("the automatic schedule is no slower than the handcrafted ones of its placement") {
  for (const int gpus : {4, 8, 16}) {
    if (testing::kWatched && gpus != 8) continue;
    SearchRequest request = gpt_on(gpus, 32);
    request.pins.data = 1;
    request.pins.pipeline = gpus;
    request.pins.tensor = 1;
    request.trainer =
        find_trainer("penstock");  // handcrafted ones could divide their recompute, too
    const auto fastest = [&](const char* name) {
      request.pins.schedules = {name};
      const SearchResult result = testing::search(testing::gpt(), testing::p4d(), request);
      return result.best.empty() ? Duration::max() : result.best[0].evaluation.step_time;
    };
    const Duration automatic = fastest("zb-auto");
    for (const char* name : {"zb-h1", "1f1b"}) {
      const Duration other = fastest(name);
      CHECK(automatic <= other + other / 10'000);
    }
  }
}

TEST_CASE("a pinned number of chunks holds for what is arranged, too") {
  for (const int chunks : {1, 2}) {
    SearchRequest request = gpt_on(16, testing::kWatched ? 16 : 64);
    if (testing::kWatched) pin_few(request);
    request.pins.chunks = chunks;
    request.top = 20;
    const SearchResult result = testing::search(testing::gpt(), testing::p4d(), request);
    REQUIRE_FALSE(result.best.empty());
    for (const RankedPlan& ranked : result.best) CHECK(ranked.plan.chunks == chunks);
  }
}

TEST_CASE("only what a trainer can run is ranked for it") {
  const auto schedules_for = [](const char* trainer) {
    SearchRequest request = gpt_on(16, 48);
    request.trainer = find_trainer(trainer);
    request.top = 50;
    const SearchResult result = testing::search(testing::gpt(), testing::p4d(), request);
    testing::check_result(testing::gpt(), testing::p4d(), result);
    std::vector<std::string> names;
    for (const RankedPlan& ranked : result.best) {
      const Plan& plan = ranked.plan;
      CHECK(plan.global_batch % (plan.data * plan.micro_batch_size) == 0);
      names.push_back(plan.schedule);
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
  };
  CHECK(schedules_for("deepspeed") == std::vector<std::string>{"1f1b"});
  CHECK(schedules_for("megatron") == std::vector<std::string>{"1f1b", "interleaved"});
  // The trainer with the most schedules takes most of the time.
  if (testing::kWatched) return;
  for (const std::string& name : schedules_for("pytorch")) {
    CHECK(name != "chimera");
    CHECK(name != "dualpipe");
    CHECK(name != "varuna");
  }
}

TEST_CASE("for our own trainer a rank is one device, and its list does not change while it runs") {
  SearchRequest request = gpt_on(testing::kWatched ? 8 : 16, testing::kWatched ? 22 : 46);
  request.trainer = find_trainer("penstock");
  request.top = 50;
  const SearchResult result = testing::search(testing::gpt(), testing::p4d(), request);
  REQUIRE_FALSE(result.best.empty());
  for (const RankedPlan& ranked : result.best) {
    CHECK(ranked.plan.tensor == 1);
    CHECK(ranked.plan.schedule.rfind("varuna", 0) != 0);
  }
}

}  // namespace
}  // namespace penstock
