#include "search/lead_by_cuts.h"

#include <cstddef>
#include <optional>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "search/choose_cuts.h"
#include "search/in_parallel.h"
#include "tests/search/models.h"

namespace penstock {
namespace {

using testing::cluster_of;
using testing::Costs;
using testing::model_of_sections;

// Ends a search when it is asked for the so manieth time.
class StopAtAsk : public SearchProgress {
 public:
  explicit StopAtAsk(int at) : at_(at) {}
  bool stop() override { return ++asked_ >= at_; }
  [[nodiscard]] int asked() const { return asked_; }

 private:
  int at_, asked_ = 0;
};
constexpr int kNever = 1 << 30;

// 14 sections on four ranks: 286 ways to cut, more than are all tried. The first four sections take
// 15 us each, the others 3. With equal cuts (4, 4, 3, 3) the first rank takes 60 us a micro-batch;
// with 2, 1, 1 and 10 sections none takes more than 30 us.
std::vector<Costs> front_heavy() {
  std::vector<Costs> sections(14, Costs{1, 2});
  for (std::size_t s = 0; s < 4; ++s) sections[s] = {5, 10};
  return sections;
}

struct Question {
  ModelProfile model = model_of_sections(front_heavy(), 1);
  ClusterSpec cluster = cluster_of({1, 4});
  PlanInputs inputs{&model, &cluster, {}, std::nullopt};
  SearchRequest request;
  Plan plan;
  Question() {
    request.gpus = 4;
    request.global_batch = 8;
    request.sequence_length = 1;
    plan.pipeline = 4;
    plan.global_batch = 8;
    plan.device = "gpu";
    plan.cuts = equal_cuts(14, 4);
  }
};

// 8 micro-batches of 60 us on the first rank, which never waits: the others send a micro-batch back
// after 30 us, before its next forwards are done. The norm takes a nanosecond.
constexpr Duration kWithEqualCuts{8 * 60'000 + 1};

// A leader that takes a second, however the limit is set.
Duration led_from(const Question& q, int stop_at, const auto& lead) {
  StopAtAsk stops(stop_at);
  AskedToStop asked_to_stop(stops);
  Plan other = q.plan;
  other.schedule = "gpipe";
  Incumbents leaders(1, {}, q.request.faster_than);
  leaders.add({other, Duration{1'000'000'000}, Bytes{}});
  lead(leaders, asked_to_stop);
  return leaders.best().front().step_time;
}

TEST_CASE("contenders must beat the limit, however slow what leads is") {
  Question q;
  const auto by_cuts = [&](Incumbents& leaders, AskedToStop& asked_to_stop) {
    ImprovedPlans improved;
    lead_by_cuts(q.inputs, q.request, improved, {Contender{q.plan, Duration{1}, Duration{1}}},
                 leaders, asked_to_stop);
  };
  CHECK(led_from(q, kNever, by_cuts) < kWithEqualCuts * 3 / 4);
  // So far above the limit a contender is given up where it begins.
  q.request.faster_than = Duration{1'000};
  CHECK(led_from(q, kNever, by_cuts) == kWithEqualCuts);
  // Nearer to it it is not.
  q.request.faster_than = kWithEqualCuts;
  CHECK(led_from(q, kNever, by_cuts) < kWithEqualCuts * 3 / 4);
}

// The thread that began waits for the last one of the others, and may have nothing to do itself.
TEST_CASE("any thread asks whether to stop, and one at a time") {
  constexpr int kAt = 1000;
  StopAtAsk alone(kAt), shared(kAt);
  AskedToStop by_other(alone), by_two(shared);
  std::thread([&] {
    for (int i = 0; i < kAt; ++i) by_other();
  }).join();
  CHECK(by_other.stopped());
  in_parallel(2, 2, [&](std::size_t) {
    while (!by_two()) std::this_thread::yield();
  });
  CHECK(shared.asked() == kAt);
}

// It is asked twice before the search for cuts, and then before every replay, of which the first is
// that of the plan's own cuts.
TEST_CASE("a whole search for better cuts ends within itself where it is asked to") {
  const Question q;
  const auto by_whole_search = [&](Incumbents& leaders, AskedToStop& asked_to_stop) {
    lead_by_whole_searches(q.inputs, q.request, {q.plan}, {}, leaders, asked_to_stop);
  };
  const Duration all = led_from(q, kNever, by_whole_search);
  CHECK(all < kWithEqualCuts * 3 / 4);
  CHECK(led_from(q, 3, by_whole_search) == Duration{1'000'000'000});
  CHECK(led_from(q, 4, by_whole_search) == kWithEqualCuts);
  const auto within = [&](Incumbents& leaders, AskedToStop& asked_to_stop) {
    lead_by_whole_searches(q.inputs, q.request, {}, {q.plan}, leaders, asked_to_stop);
  };
  CHECK(led_from(q, kNever, within) == all);
  CHECK(led_from(q, 3, within) == Duration{1'000'000'000});
  CHECK(led_from(q, 4, within) == kWithEqualCuts);
}

}  // namespace
}  // namespace penstock
