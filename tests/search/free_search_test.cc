// What a search may never be beaten by: itself with less to choose from.
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

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

void pin_to(Pins& pins, const Plan& plan, int which) {
  switch (which) {
    case 0: pins.pipeline = plan.pipeline; break;
    case 1: pins.chunks = plan.chunks; break;
    case 2: pins.data = plan.data; break;
    case 3: pins.tensor = plan.tensor; break;
    case 4: pins.micro_batch_size = plan.micro_batch_size; break;
    case 5: pins.schedules = {plan.schedule}; break;
    case 6: pins.recompute = plan.recompute; break;
    case 7: pins.zero1 = plan.zero1; break;
    case 8: pins.placement = plan.placement; break;
    default: if (!plan.is_mixed()) pins.device = plan.device;
  }
}

// A question with less to choose from.
Question lesser(Random& random, Question q, std::string& what) {
  Pins& pins = q.request.pins;
  const int kind = random.between(0, 13);
  what = std::to_string(kind);
  switch (kind) {
    case 0: pins.pipeline = random.between(1, 4); break;
    case 1: pins.chunks = random.between(1, 3); break;
    case 2: pins.data = random.between(1, 6); break;
    case 3: pins.tensor = random.between(1, 2); break;
    case 4: pins.micro_batch_size = random.between(1, 4); break;
    case 5: {
      const auto names = schedule_names();
      do pins.schedules = {names[static_cast<std::size_t>(random.between(0, static_cast<int>(names.size()) - 1))]};
      while (find_schedule(pins.schedules[0])->only_when_named || find_schedule(pins.schedules[0])->has_slices);
      break;
    }
    case 6: pins.recompute = random.coin() ? "none" : "full"; break;
    case 7: pins.zero1 = random.coin(); break;
    case 8: pins.placement = random.coin() ? Placement::kDataInner : Placement::kPipelineInner; break;
    case 9: q.request.gpus = random.between(1, q.request.gpus); break;
    case 10:
      for (DeviceType& device : q.cluster.device_types) device.memory.count = device.memory.count * random.between(5, 10) / 10;
      break;
    case 11:
      for (LinkLevel& level : q.cluster.levels) {
        level.bandwidth.value /= random.between(1, 4);
        level.latency *= random.between(1, 3);
      }
      break;
    case 12: pins.device = "gpu"; break;
    default: q.request.top = random.between(1, 12);
  }
  return q;
}

TEST_CASE("less to choose from never finds a faster plan than the free search") {
  Random random(71);
  int bad = 0, asked = 0;
  std::vector<int> by_kind(14, 0);
  for (int i = 0; i < 500; ++i) {
    const Question q = random_question(random);
    const Duration free = best_of(q);
    for (int j = 0; j < 3; ++j) {
      std::string what;
      const Question less = lesser(random, q, what);
      const Duration other = best_of(less);
      ++asked;
      if (other < free || (what == "13" && other != free)) {
        ++bad; ++by_kind[static_cast<std::size_t>(std::stoi(what))];
        MESSAGE(i, " kind ", what, " free ", free.count(), " other ", other.count(), " P ", less.request.pins.schedules.empty() ? "" : less.request.pins.schedules[0]);
      }
    }
  }
  MESSAGE("asked ", asked, " bad ", bad);
  for (int k = 0; k < 14; ++k) MESSAGE(k, ": ", by_kind[static_cast<std::size_t>(k)]);
}

TEST_CASE("the winner pinned to its own values is found again") {
  Random random(72);
  int bad = 0;
  for (int i = 0; i < 500; ++i) {
    Question q = random_question(random);
    const SearchResult result = search(q.model, q.cluster, q.request);
    if (result.best.empty()) continue;
    const Plan& winner = result.best[0].plan;
    for (int which = 0; which < 10; ++which) {
      if (random.coin()) pin_to(q.request.pins, winner, which);
    }
    const SearchResult again = search(q.model, q.cluster, q.request);
    if (again.best.empty() || !(again.best[0].plan == winner)) {
      ++bad;
      MESSAGE(i, " ", winner.schedule, " ", result.best[0].evaluation.step_time.count(), " ", again.best.empty() ? "none" : again.best[0].plan.schedule, " ", again.best.empty() ? 0 : again.best[0].evaluation.step_time.count());
    }
  }
  MESSAGE("bad ", bad);
}

}  // namespace
}  // namespace penstock
