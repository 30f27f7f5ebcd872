#include "simulator/schedules/zb_v_auto.h"

#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

#include "simulator/schedules/zb_v_heuristic.h"
#include "tests/simulator/schedules/automatic.h"

namespace penstock {
namespace {

using testing::costs_of;
using testing::EqualStages;
using testing::Random;
using testing::text_of;
using testing::times_of;
using testing::within_limits;

// sail-sg zbv.py, worked out in the reference of the schedule: F = I = W = 1, c = 0, limit 2P
// chunks.
TEST_CASE("ZB-V of four ranks and four micro-batches idles three units") {
  const AutomaticLists found = zb_v_auto(costs_of({4, 2, 1, 1, 1, 0, 1, 1, 8}), 4);
  CHECK(found.span == Duration{2 * 4 * 3 + 3});
  CHECK(text_of(found.lists, 1) ==
        "1F0 1F1 1F2 1F3 6F0 6F1 6I0 6F2 6I1 6F3 6I2 1I0 6I3 1I1 6W0 1I2 6W1 1I3 6W2 1W0 6W3 1W1 "
        "1W2 1W3");
}

StageCosts random_v_costs(Random& random, int most_ranks) {
  const int ranks = random.between(1, most_ranks);
  EqualStages equal{ranks, 2};
  equal.forward = random.between(0, 9);
  equal.input_gradient = random.between(0, 9);
  equal.weight_gradient = random.between(0, 9);
  equal.transfer = random.between(0, 4);
  equal.freed_by_input_gradient = random.between(0, 4);
  equal.freed_by_weight_gradient = random.between(0, 4);
  equal.limit = random.between(2 * ranks, 4 * ranks);
  StageCosts costs = costs_of(equal);
  if (random.coin()) return costs;
  for (auto* times : {&costs.forward, &costs.input_gradient, &costs.weight_gradient}) {
    for (Duration& time : *times) time += Duration{random.between(0, 3)};
  }
  for (std::size_t s = 0; s < costs.forward.size(); ++s) {
    const std::int64_t less =
        random.between(0, static_cast<int>(costs.freed_by_weight_gradient[s]));
    costs.freed_by_weight_gradient[s] -= less;
    costs.taken_by_forward[s] -= less;
  }
  for (std::int64_t& limit : costs.limit) limit += random.between(0, 5);
  return costs;
}

TEST_CASE("from 2P chunks on there are lists: whole, within the limits, and of the span they say") {
  Random random(1);
  for (int n = 0; n < 500; ++n) {
    CAPTURE(n);
    const StageCosts costs = random_v_costs(random, 6);
    const int micro_batches = random.between(1, 14);
    const AutomaticLists found = zb_v_auto(costs, micro_batches);
    CAPTURE(found.why_not);
    REQUIRE(found.why_not.empty());
    CHECK(found.span == times_of(found.lists, costs, micro_batches).longest_span);
    CHECK(within_limits(found.lists, costs));
  }
}

TEST_CASE("of equal stages the idle time of the pattern is the span beyond the work") {
  Random random(2);
  for (int n = 0; n < 500; ++n) {
    CAPTURE(n);
    const EqualCosts equal{Duration{random.between(0, 9)},
                           Duration{random.between(0, 9)},
                           Duration{random.between(0, 9)},
                           Duration{random.between(0, 4)},
                           2,
                           1,
                           1};
    const int ranks = random.between(1, 6);
    const int micro_batches = random.between(1, 14);
    ZbVHeuristic heuristic(equal, ranks, micro_batches);
    const auto idle = heuristic.run({random.coin(), random.coin()}, 4 * ranks);
    REQUIRE(idle);
    const StageCosts costs =
        costs_of({ranks, 2, equal.forward.count(), equal.input_gradient.count(),
                  equal.weight_gradient.count(), equal.transfer.count(), 1, 1, 2 * ranks});
    const Duration work =
        2 * micro_batches * (equal.forward + equal.input_gradient + equal.weight_gradient);
    CHECK(work + *idle == length_of(heuristic.lists(), costs, Shortest::kSpan));
  }
}

TEST_CASE("raising limits never makes ZB-V longer") {
  Random random(3);
  for (int n = 0; n < 500; ++n) {
    CAPTURE(n);
    StageCosts costs = random_v_costs(random, 5);
    const int micro_batches = random.between(1, 14);
    Duration before = zb_v_auto(costs, micro_batches).span;
    for (int step = 0; step < 3; ++step) {
      for (std::int64_t& limit : costs.limit) limit += random.between(0, 9);
      const Duration after = zb_v_auto(costs, micro_batches).span;
      CHECK(after <= before);
      before = after;
    }
  }
}

TEST_CASE("below 2P chunks it says what would do") {
  const AutomaticLists found = zb_v_auto(costs_of({4, 2, 1, 1, 1, 0, 1, 1, 7}), 8);
  CHECK(found.lists.empty());
  CHECK(found.why_not ==
        "a rank needs 16 (the activations of 8 chunks) for the V's pattern, and the smallest limit "
        "is 14: a limit of 16 would do, or smaller micro-batches");
}

}  // namespace
}  // namespace penstock
