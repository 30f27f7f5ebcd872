#include "simulator/schedules/zb_v_auto.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "simulator/schedules/schedules.h"
#include "simulator/schedules/zb_v_heuristic.h"
#include "tests/simulator/schedules/automatic.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::check_step_to_beat;
using testing::costs_of;
using testing::EqualStages;
using testing::Lists;
using testing::never_longer_with_more_bytes;
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
  equal.limit = random.between(2, 4 * ranks);
  StageCosts costs = costs_of(equal);
  costs.shortest = random.coin() ? Shortest::kSpan : Shortest::kMakespan;
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
  for (std::int64_t& limit : costs.limit) limit += random.between(0, 5 * ranks);
  return costs;
}

Duration length_of_lists(const Lists& lists, const StageCosts& costs, int micro_batches) {
  const testing::Times times = times_of(lists, costs, micro_batches);
  return costs.shortest == Shortest::kSpan ? times.longest_span : times.makespan;
}

TEST_CASE("from two chunks on there are lists: whole, within every limit, as long as they say") {
  Random random(1);
  for (int n = 0; n < testing::draws(500); ++n) {
    CAPTURE(n);
    const StageCosts costs = random_v_costs(random, 6);
    const int micro_batches = random.between(1, 14);
    const AutomaticLists found = zb_v_auto(costs, micro_batches);
    CAPTURE(found.why_not);
    REQUIRE(found.why_not.empty());
    CHECK(found.span == length_of_lists(found.lists, costs, micro_batches));
    CHECK(within_limits(found.lists, costs));
  }
}

TEST_CASE("what is to be beaten changes no lists that are shorter, and nothing else is made") {
  Random random(31);
  for (int n = 0; n < testing::draws(300); ++n) {
    CAPTURE(n);
    StageCosts costs = random_v_costs(random, 6);
    if (random.coin()) costs.shortest = Shortest::kMakespan;
    const int micro_batches = random.between(1, 14);
    check_step_to_beat(random, costs,
                       [&](const StageCosts& asked) { return zb_v_auto(asked, micro_batches); });
  }
}

TEST_CASE("never longer than ZB-V, V-Half and V-Min where they fit") {
  Random random(4);
  int fitted = 0;
  for (int n = 0; n < testing::draws(300); ++n) {
    CAPTURE(n);
    const StageCosts costs = random_v_costs(random, 6);
    const int micro_batches = random.between(1, 14);
    const Duration found = zb_v_auto(costs, micro_batches).span;
    ScheduleShape shape;
    shape.ranks = static_cast<int>(costs.limit.size());
    shape.chunks = 2;
    shape.micro_batches = micro_batches;
    for (const char* name : {"zb-v", "v-half", "v-min"}) {
      if (!why_no_schedule(*find_schedule(name), shape).empty()) continue;
      const Schedule schedule = make_schedule(name, shape);
      Lists lists;
      for (int r = 0; r < shape.ranks; ++r) {
        const auto list = schedule.list(r);
        lists.emplace_back(list.begin(), list.end());
      }
      if (!within_limits(lists, costs)) continue;
      ++fitted;
      CHECK(found <= length_of_lists(lists, costs, micro_batches));
    }
  }
  CHECK(fitted > testing::least(300));
}

TEST_CASE("never longer than the published heuristic under the same limit") {
  Random random(6);
  for (int n = 0; n < testing::draws(300); ++n) {
    CAPTURE(n);
    const int ranks = random.between(1, 6);
    const int micro_batches = random.between(1, 14);
    const EqualStages equal{ranks,
                            2,
                            random.between(0, 9),
                            random.between(0, 9),
                            random.between(0, 9),
                            random.between(0, 4),
                            random.between(1, 4),
                            random.between(1, 4),
                            random.between(2 * ranks, 6 * ranks)};
    const StageCosts costs = costs_of(equal);
    const std::int64_t taken = costs.taken_by_forward[0];
    const EqualCosts of_chunk{costs.forward[0],
                              costs.input_gradient[0],
                              costs.weight_gradient[0],
                              Duration{equal.transfer},
                              taken,
                              costs.freed_by_input_gradient[0],
                              costs.freed_by_weight_gradient[0]};
    ZbVHeuristic heuristic(of_chunk, ranks, micro_batches);
    const Duration found = zb_v_auto(costs, micro_batches).span;
    for (const int switches : {0, 1, 2, 3}) {
      if (!heuristic.run({switches > 1, switches % 2 == 1}, equal.limit * taken)) continue;
      CHECK(found <= length_of(heuristic.lists(), costs, Shortest::kSpan));
    }
  }
}

TEST_CASE("of equal stages the idle time of the pattern is the span beyond the work") {
  Random random(2);
  for (int n = 0; n < testing::draws(500); ++n) {
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

TEST_CASE("raising a limit that all ranks have never makes ZB-V longer") {
  Random random(3);
  for (int n = 0; n < testing::draws(200); ++n) {
    CAPTURE(n);
    StageCosts costs = random_v_costs(random, 5);
    const int micro_batches = random.between(1, 14);
    const std::int64_t taken =
        *std::max_element(costs.taken_by_forward.begin(), costs.taken_by_forward.end());
    costs.taken_by_forward.assign(costs.taken_by_forward.size(), taken);
    for (std::size_t s = 0; s < costs.taken_by_forward.size(); ++s) {
      costs.freed_by_input_gradient[s] = taken - costs.freed_by_weight_gradient[s];
    }
    Duration before = Duration::max();
    const auto ranks = static_cast<int>(costs.limit.size());
    for (int chunks = 2; chunks <= 4 * ranks; chunks += random.between(1, 3)) {
      costs.limit.assign(costs.limit.size(), chunks * taken);
      const Duration after = zb_v_auto(costs, micro_batches).span;
      CHECK(after <= before);
      before = after;
    }
  }
}

TEST_CASE("as many bytes more on every rank never make ZB-V longer, whatever the ranks have") {
  Random random(15);
  for (int n = 0; n < testing::draws(100); ++n) {
    CAPTURE(n);
    StageCosts costs = random_v_costs(random, 5);
    const int micro_batches = random.between(1, 10);
    CHECK(never_longer_with_more_bytes(random, costs, [&](const StageCosts& raised) {
      return zb_v_auto(raised, micro_batches).span;
    }));
  }
}

// Heuristics have anomalies: where ranks differ, it can happen.
TEST_CASE("raising limits of some ranks rarely makes ZB-V longer, and by little") {
  Random random(5);
  int longer = 0;
  double most = 1;
  for (int n = 0; n < testing::draws(500); ++n) {
    StageCosts costs = random_v_costs(random, 6);
    const int micro_batches = random.between(1, 14);
    const Duration before = zb_v_auto(costs, micro_batches).span;
    for (std::int64_t& limit : costs.limit) limit += random.between(0, 9);
    const Duration after = zb_v_auto(costs, micro_batches).span;
    if (after <= before) continue;
    ++longer;
    most = std::max(most, static_cast<double>(after.count()) / static_cast<double>(before.count()));
  }
  CHECK(longer <= 10);
  CHECK(most <= 1.1);
}

// Less than two of the larger chunk, but one of each.
TEST_CASE("stages that take different memory need one activation of each, no more") {
  StageCosts costs = costs_of({2, 2, 1, 1, 1, 0, 1, 1, 0});
  costs.taken_by_forward = {10, 10, 2, 2};
  costs.freed_by_input_gradient = {9, 9, 1, 1};
  costs.limit = {12, 12};
  const AutomaticLists found = zb_v_auto(costs, 3);
  REQUIRE(found.why_not.empty());
  CHECK(found.span == times_of(found.lists, costs, 3).longest_span);
  CHECK(within_limits(found.lists, costs));
}

TEST_CASE("a rank that cannot hold one micro-batch in both stages says what would do") {
  StageCosts costs = costs_of({4, 2, 1, 1, 1, 0, 1, 1, 7});
  costs.limit[2] = 3;
  const AutomaticLists found = zb_v_auto(costs, 8);
  CHECK(found.lists.empty());
  CHECK(found.why_not ==
        "rank 2 needs 4 for the activations of one micro-batch in its two stages, and its limit is "
        "3: a limit of 4 there would do, or smaller micro-batches");
}

}  // namespace
}  // namespace penstock
