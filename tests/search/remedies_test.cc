#include "search/remedies.h"

#include <algorithm>
#include <sstream>

#include <doctest/doctest.h>

#include "core/values/sharding.h"
#include "costmodel/price_stages.h"
#include "simulator/schedules/schedules.h"
#include "tests/search/models.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::Random;
using testing::search;

// The plan that plan_words() wrote, with the parts of the request that it leaves out.
Plan plan_of_words(const std::string& words, int global_batch) {
  Plan plan;
  plan.device = "gpu";
  plan.global_batch = global_batch;
  std::string text = words.substr(0, words.find(':'));
  std::replace(text.begin(), text.end(), ',', ' ');
  std::istringstream in(text);
  for (std::string word, last; in >> word; last = word) {
    if (last == "TP")
      plan.tensor = std::stoi(word);
    else if (last == "PP")
      plan.pipeline = std::stoi(word);
    else if (last == "VP")
      plan.chunks = std::stoi(word);
    else if (last == "DP")
      plan.data = std::stoi(word);
    else if (last == "mbs")
      plan.micro_batch_size = std::stoi(word);
    else if (word == "recompute")
      plan.recompute = last == "no" ? "none" : last;
    else if (last == "HSDP")
      plan.shard_group = std::stoi(word);
    else if (word == "ZeRO-1")
      plan.zero1 = true;
    else if (word == "FSDP" || word == "HSDP")
      set_sharding({true, Sharding::kFsdp}, plan);
    else if (find_schedule(word) != nullptr)
      plan.schedule = word;
  }
  if (plan.pipeline == 1) plan.schedule = "1f1b";  // of one rank it is not said
  return plan;
}

void apply(const std::string& remedy, Plan& plan) {
  const auto number_after = [&](const std::string& start) {
    return std::stoi(remedy.substr(start.size()));
  };
  if (remedy == "ZeRO-1") {
    plan.zero1 = true;
  } else if (remedy.ends_with(" recompute")) {
    plan.recompute = remedy.substr(0, remedy.find(' '));
  } else if (remedy.starts_with("micro-batch size ")) {
    plan.micro_batch_size = number_after("micro-batch size ");
  } else if (remedy.starts_with("PP ")) {
    plan.pipeline = number_after("PP ");
  } else {
    REQUIRE(remedy.starts_with("TP "));
    plan.tensor = number_after("TP ");
  }
}

TEST_CASE("words of a plan and back") {
  Plan plan;
  plan.device = "gpu";
  plan.pipeline = 8;
  plan.chunks = 2;
  plan.data = 3;
  plan.tensor = 4;
  plan.schedule = "interleaved";
  plan.global_batch = 9;
  plan.zero1 = true;
  CHECK(plan_words(plan) == "TP 4 x PP 8 x DP 3, VP 2, mbs 1, interleaved, no recompute, ZeRO-1");
  CHECK(plan_of_words(plan_words(plan) + ": over", 9) == plan);
  plan.pipeline = plan.chunks = 1;
  plan.schedule = "1f1b";
  CHECK(plan_words(plan) == "TP 4 x PP 1 x DP 3, mbs 1, no recompute, ZeRO-1");
  CHECK(plan_of_words(plan_words(plan) + ": over", 9) == plan);
}

// What comes before the remedy in the order that search/remedies.h tells, on as many devices.
std::vector<Plan> tried_before(const std::string& remedy, const ModelProfile& model,
                               const Plan& plan) {
  std::vector<Plan> plans;
  if (remedy == "ZeRO-1") return plans;
  if (!plan.zero1 && plan.data > 1) plans.emplace_back(plan).zero1 = true;
  if (remedy.ends_with(" recompute")) return plans;
  for (const std::string& mode : measured_recompute_modes(model, plan.device)) {
    if (mode != plan.recompute && mode != "none") plans.emplace_back(plan).recompute = mode;
  }
  if (remedy.starts_with("micro-batch size ")) {
    const int last = std::stoi(remedy.substr(17));
    for (int b = plan.micro_batch_size / 2; b > last; b /= 2)
      plans.emplace_back(plan).micro_batch_size = b;
    return plans;
  }
  for (int b = plan.micro_batch_size / 2; b >= 1; b /= 2)
    plans.emplace_back(plan).micro_batch_size = b;
  return plans;
}

TEST_CASE("the remedy of the nearest miss fits, and nothing that is tried before it does") {
  Random random(81);
  int misses = 0;
  int remedies = 0;
  int earlier = 0;
  for (int i = 0; i < testing::draws(400); ++i) {
    const ModelProfile model = testing::random_model(random, random.between(1, 7));
    ClusterSpec cluster = testing::random_cluster(random, 2, 4);
    cluster.device_types[0].memory = {random.between(200, 1500)};
    SearchRequest request;
    request.gpus = random.between(1, 4);
    request.global_batch = random.between(1, 16);
    if (random.coin()) request.pins.micro_batch_size = random.between(1, 4);
    if (random.coin()) request.pins.zero1 = false;
    const SearchResult result = search(model, cluster, request);
    if (!result.nearest_miss) continue;
    ++misses;
    CHECK(result.best.empty());
    CHECK(result.nearest_miss->least_over->count > 0);
    if (result.nearest_miss->remedy.empty()) continue;
    ++remedies;
    CAPTURE(result.nearest_miss->reason);
    CAPTURE(result.nearest_miss->remedy);
    PlanInputs inputs;
    inputs.profile = &model;
    inputs.cluster = &cluster;
    Plan plan = plan_of_words(result.nearest_miss->reason, request.global_batch);
    CHECK(evaluate(inputs, plan).why_not);
    for (const Plan& before : tried_before(result.nearest_miss->remedy, model, plan)) {
      ++earlier;
      CHECK(evaluate(inputs, before).why_not);
    }
    apply(result.nearest_miss->remedy, plan);
    CHECK_FALSE(evaluate(inputs, plan).why_not);
    const bool more = result.nearest_miss->remedy.ends_with(" GPUs");
    CHECK((plan.devices() > request.gpus) == more);
  }
  CHECK(misses > testing::least(50));
  CHECK(remedies > testing::least(20));
  CHECK(earlier > testing::least(20));
}

}  // namespace
}  // namespace penstock
