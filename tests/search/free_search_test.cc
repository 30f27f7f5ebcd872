// What a search may never be beaten by: itself with less to choose from.
#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/recompute_sections.h"
#include "search/best_plans.h"
#include "tests/search/models.h"

namespace penstock {
namespace {

using testing::Random;
using testing::search;

struct Question {
  ModelProfile model;
  ClusterSpec cluster;
  SearchRequest request;
};

Question random_question(Random& random) {
  Question q;
  q.model = testing::random_model(random, random.between(1, 6));
  const int nodes = random.between(1, 3);
  const int per_node = random.between(1, 2) * 2;
  q.cluster = testing::random_cluster(random, nodes, per_node);
  if (random.between(0, 3) == 0) {
    q.model = testing::also_on(q.model, "old", random.between(1, 3));
    testing::add_nodes(q.cluster, "old", 1, 2, random.between(800, 5000));
  }
  q.request.gpus = random.between(1, std::min(8, device_count(q.cluster)));
  q.request.global_batch = random.between(1, 16);
  q.request.top = random.between(1, 6);
  return q;
}

Duration best_of(const Question& q) {
  const SearchResult result = search(q.model, q.cluster, q.request);
  return result.best.empty() ? Duration::max() : result.best[0].evaluation.step_time;
}

constexpr int kPins = 10;
void pin_to(Pins& pins, const Plan& plan, int which) {
  switch (which) {
    case 0:
      pins.pipeline = plan.pipeline;
      break;
    case 1:
      pins.chunks = plan.chunks;
      break;
    case 2:
      pins.data = plan.data;
      break;
    case 3:
      pins.tensor = plan.tensor;
      break;
    case 4:
      pins.micro_batch_size = plan.micro_batch_size;
      break;
    case 5:
      pins.schedules = {plan.schedule};
      break;
    case 6:
      pins.recompute = plan.recompute;
      pins.recompute_as_needed = recompute_is_divided(plan);
      break;
    case 7:
      pins.zero1 = plan.zero1;
      break;
    case 8:
      pins.placement = plan.placement;
      break;
    default:
      if (!plan.is_mixed()) pins.device = plan.device;
  }
}

// A question with less to choose from, or (the last) with another number of plans to show.
Question lesser(Random& random, Question q) {
  Pins& pins = q.request.pins;
  switch (random.between(0, 13)) {
    case 0:
      pins.pipeline = random.between(1, 4);
      break;
    case 1:
      pins.chunks = random.between(1, 3);
      break;
    case 2:
      pins.data = random.between(1, 6);
      break;
    case 3:
      pins.tensor = random.between(1, 2);
      break;
    case 4:
      pins.micro_batch_size = random.between(1, 4);
      break;
    case 5: {
      std::vector<std::string> names;
      for (const ScheduleKind& kind : schedule_kinds()) {
        if (!kind.only_when_named && !kind.has_slices) names.emplace_back(kind.name);
      }
      const int last = static_cast<int>(names.size()) - 1;
      pins.schedules = {names[static_cast<std::size_t>(random.between(0, last))]};
      break;
    }
    case 6:
      pins.recompute = random.coin() ? "none" : "full";
      break;
    case 7:
      pins.zero1 = random.coin();
      break;
    case 8:
      pins.placement = random.coin() ? Placement::kDataInner : Placement::kPipelineInner;
      break;
    case 9:
      q.request.gpus = random.between(1, q.request.gpus);
      break;
    case 10:
      for (DeviceType& device : q.cluster.device_types)
        device.memory.count = device.memory.count * random.between(5, 10) / 10;
      break;
    case 11:
      for (LinkLevel& level : q.cluster.levels) {
        level.bandwidth.value /= random.between(1, 4);
        level.latency *= random.between(1, 3);
      }
      break;
    case 12:
      pins.device = "gpu";
      break;
    default:
      q.request.top = random.between(1, 12);
  }
  return q;
}

TEST_CASE("less to choose from never finds a faster plan than the free search") {
  Random random(71);
  for (int i = 0; i < 250; ++i) {
    CAPTURE(i);
    const Question q = random_question(random);
    const Duration free = best_of(q);
    for (int j = 0; j < 2; ++j) {
      const Question less = lesser(random, q);
      CAPTURE(j);
      const Duration other = best_of(less);
      CHECK(free <= other);
      if (less.request.top != q.request.top) CHECK(free == other);
    }
  }
}

TEST_CASE("the winner pinned to its own values is found again") {
  Random random(72);
  for (int i = 0; i < 250; ++i) {
    CAPTURE(i);
    Question q = random_question(random);
    const SearchResult result = search(q.model, q.cluster, q.request);
    if (result.best.empty()) continue;
    const RankedPlan& winner = result.best[0];
    CHECK(result.least_possible <= winner.evaluation.step_time);
    for (int which = 0; which < kPins; ++which) {
      if (random.coin()) pin_to(q.request.pins, winner.plan, which);
    }
    const SearchResult again = search(q.model, q.cluster, q.request);
    REQUIRE_FALSE(again.best.empty());
    CHECK(again.best[0].plan == winner.plan);
    CHECK(again.best[0].evaluation.step_time == winner.evaluation.step_time);
  }
}

// Cuts that the search never tried, and plans that it only bounded, are covered by the certificate.
TEST_CASE("no cuts of any listed plan take less than the certificate says") {
  Random random(73);
  int tried = 0;
  for (int i = 0; i < 40; ++i) {
    CAPTURE(i);
    const Question q = random_question(random);
    const SearchResult result = search(q.model, q.cluster, q.request);
    if (result.best.empty()) continue;
    REQUIRE(result.least_possible > Duration{});
    PlanInputs inputs;
    inputs.profile = &q.model;
    inputs.cluster = &q.cluster;
    const int sections = static_cast<int>(q.model.sections.size());
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
