#include "simulator/schedules/zb_auto.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "simulator/schedules/limit_ladder.h"
#include "simulator/schedules/zb_greedy.h"
#include "tests/core/messages.h"
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
using testing::random_costs;
using testing::random_limits;
using testing::text_of;
using testing::times_of;
using testing::within_limits;

// F = I = W = 1, c = 0; an activation is 2 units, I and W free one each.
StageCosts unit_stages(int ranks, int limit) {
  EqualStages equal;
  equal.ranks = ranks;
  equal.limit = limit;
  return costs_of(equal);
}

// The lists of a handcrafted schedule, a B taken apart.
Lists handcrafted(std::string_view name, std::size_t ranks, int micro_batches) {
  ScheduleShape shape;
  shape.ranks = static_cast<int>(ranks);
  shape.micro_batches = micro_batches;
  const Schedule schedule = make_schedule(name, shape);
  Lists lists(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (ComputeAction action : schedule.list(static_cast<int>(rank))) {
      const bool fused = action.kind == ActionKind::kFusedBackward;
      if (fused) action.kind = ActionKind::kInputGradient;
      lists[rank].push_back(action);
      if (fused) action.kind = ActionKind::kWeightGradient;
      if (fused) lists[rank].push_back(action);
    }
  }
  return lists;
}
constexpr std::array kHandcrafted = {"1f1b", "zb-h1", "zb-h2"};

// sail-sg scheduler/zb.py, worked out in the reference of the schedule.
TEST_CASE("ZB-1p of equal stages is ZB-H1") {
  for (const AutomaticLists& found :
       {zb_published(unit_stages(4, 4), 5), zb_auto(unit_stages(4, 4), 5)}) {
    CHECK(text_of(found.lists, 0) == "F0 F1 F2 F3 I0 W0 F4 I1 W1 I2 W2 I3 W3 I4 W4");
    CHECK(text_of(found.lists, 1) == "F0 F1 F2 I0 F3 I1 W0 F4 I2 W1 I3 W2 I4 W3 W4");
    CHECK(text_of(found.lists, 2) == "F0 F1 I0 F2 I1 F3 I2 W0 F4 I3 W1 I4 W2 W3 W4");
    CHECK(text_of(found.lists, 3) == "F0 I0 F1 I1 F2 I2 F3 I3 W0 F4 I4 W1 W2 W3 W4");
    CHECK(found.span == Duration{18});
    CHECK(found.why_not.empty());
  }
}

TEST_CASE("ZB-2p of equal stages has no bubble in its span") {
  for (const AutomaticLists& found :
       {zb_published(unit_stages(4, 8), 8), zb_auto(unit_stages(4, 8), 8)}) {
    CHECK(text_of(found.lists, 0) ==
          "F0 F1 F2 F3 F4 F5 F6 I0 F7 W0 I1 W1 I2 W2 I3 W3 I4 W4 I5 W5 I6 W6 I7 W7");
    CHECK(text_of(found.lists, 1) ==
          "F0 F1 F2 F3 F4 I0 F5 I1 F6 I2 F7 I3 W0 I4 W1 I5 W2 I6 W3 I7 W4 W5 W6 W7");
    CHECK(text_of(found.lists, 3) ==
          "F0 I0 F1 I1 F2 I2 F3 I3 F4 I4 F5 I5 F6 I6 F7 I7 W0 W1 W2 W3 W4 W5 W6 W7");
    CHECK(found.span == Duration{24});
  }
}

struct PaperRow {
  int micro_batches;
  std::int64_t forward, input_gradient, weight_gradient, transfer;  // ns
  double zb_1p, zb_2p;
};

// Zero-bubble paper (arXiv 2401.10241), model "1.5B": P = 8, hidden 2304, 24 heads, sequence 1024;
// memory in bytes per token, 34 h + 5 a s of which W frees 32 h.
TEST_CASE("the bubble rates of ZB-1p and ZB-2p in the zero-bubble paper come out within 1e-4") {
  const std::vector<PaperRow> rows = {
      {24, 18'522'000, 18'086'000, 9'337'000, 601'000, .1585, .0433},
      {32, 18'513'000, 18'086'000, 9'331'000, 626'000, .1242, .0039},
      {64, 18'546'000, 18'097'000, 9'321'000, 762'000, .0674, .0026},
  };
  for (const PaperRow& row : rows) {
    CAPTURE(row.micro_batches);
    const auto rate = [&](auto schedule, int activations) {
      const StageCosts costs = costs_of({8, 1, row.forward, row.input_gradient, row.weight_gradient,
                                         row.transfer, 127'488, 73'728, activations});
      const auto span = static_cast<double>(schedule(costs, row.micro_batches).span.count());
      const std::int64_t work = row.forward + row.input_gradient + row.weight_gradient;
      return 1 - static_cast<double>(row.micro_batches * work) / span;
    };
    const auto ours = [](const StageCosts& costs, int m) { return zb_auto(costs, m); };
    CHECK(std::abs(rate(zb_published, 8) - row.zb_1p) < 1e-4);
    CHECK(std::abs(rate(zb_published, 16) - row.zb_2p) < 1e-4);
    CHECK(rate(ours, 8) <= rate(zb_published, 8));
    CHECK(rate(ours, 16) <= rate(zb_published, 16));
  }
}

TEST_CASE("ZB-1p is no longer than ZB-H1 for F = I = W and short transfers") {
  for (const int ranks : {2, 3, 4, 8}) {
    for (int micro_batches = 1; micro_batches <= 4 * ranks; ++micro_batches) {
      for (const std::int64_t transfer : {0, 1, 3}) {
        CAPTURE(ranks);
        CAPTURE(micro_batches);
        CAPTURE(transfer);
        const StageCosts costs = costs_of({ranks, 1, 10, 10, 10, transfer, 1, 1, ranks});
        const Lists h1 = handcrafted("zb-h1", static_cast<std::size_t>(ranks), micro_batches);
        CHECK(zb_published(costs, micro_batches).span <=
              times_of(h1, costs, micro_batches).longest_span);
      }
    }
  }
}

TEST_CASE("any costs and limits: the lists are whole, take the span they say, and fit") {
  Random random(1);
  for (int n = 0; n < testing::draws(1000); ++n) {
    CAPTURE(n);
    StageCosts costs = random_costs(random, 7);
    const int micro_batches = random.between(1, 20);
    for (const AutomaticLists& found :
         {zb_published(costs, micro_batches), zb_auto(costs, micro_batches)}) {
      REQUIRE(found.why_not.empty());
      CHECK(found.span == times_of(found.lists, costs, micro_batches).longest_span);
      CHECK(within_limits(found.lists, costs));
    }
    costs.shortest = Shortest::kMakespan;
    const AutomaticLists short_in_all = zb_auto(costs, micro_batches);
    CHECK(short_in_all.span == times_of(short_in_all.lists, costs, micro_batches).makespan);
    CHECK(within_limits(short_in_all.lists, costs));
  }
}

TEST_CASE("what is to be beaten changes no lists that are shorter, and nothing else is made") {
  Random random(31);
  for (int n = 0; n < testing::draws(300); ++n) {
    CAPTURE(n);
    StageCosts costs = random_costs(random, 7);
    if (random.coin()) costs.shortest = Shortest::kMakespan;
    const int micro_batches = random.between(1, 14);
    check_step_to_beat(random, costs,
                       [&](const StageCosts& asked) { return zb_auto(asked, micro_batches); });
  }
}

// The search uses it from 256 stages times micro-batches on.
TEST_CASE("nor of those that were published, of many micro-batches as well") {
  Random random(32);
  for (int n = 0; n < testing::draws(300); ++n) {
    CAPTURE(n);
    StageCosts costs = random_costs(random, 7);
    const int micro_batches = n % 10 == 0 ? random.between(60, 130) : random.between(1, 14);
    check_step_to_beat(random, costs,
                       [&](const StageCosts& asked) { return zb_published(asked, micro_batches); });
  }
}

TEST_CASE("never longer than 1F1B, ZB-H1 and ZB-H2 where they fit") {
  Random random(2);
  for (int n = 0; n < testing::draws(1000); ++n) {
    CAPTURE(n);
    StageCosts costs = random_costs(random, 7);
    const int micro_batches = random.between(1, 20);
    const Duration span = zb_auto(costs, micro_batches).span;
    costs.shortest = Shortest::kMakespan;
    const Duration makespan = zb_auto(costs, micro_batches).span;
    for (const char* name : kHandcrafted) {
      const Lists lists = handcrafted(name, costs.limit.size(), micro_batches);
      if (!within_limits(lists, costs)) continue;
      CHECK(span <= times_of(lists, costs, micro_batches).longest_span);
      CHECK(makespan <= times_of(lists, costs, micro_batches).makespan);
    }
  }
}

// As many activations on all ranks.
std::vector<std::int64_t> even_limits(const StageCosts& costs, int quarters) {
  std::vector<std::int64_t> limits;
  for (const std::int64_t taken : costs.taken_by_forward) limits.push_back(taken * quarters / 4);
  return limits;
}

// Of pipelines so long that lowered limits are not tried; of shorter ones as many activations more
// are as many bytes only where stages take the same.
TEST_CASE("raising limits that admit as many activations everywhere never makes it longer") {
  Random random(3);
  for (int n = 0; n < testing::draws(300); ++n) {
    CAPTURE(n);
    StageCosts costs = random_costs(random, 7);
    for (auto* memory : {&costs.taken_by_forward, &costs.freed_by_input_gradient,
                         &costs.freed_by_weight_gradient}) {
      memory->assign(memory->size(), memory->front());
    }
    // In fourths of all of them, so that every limit is a whole number.
    for (auto* memory : {&costs.taken_by_forward, &costs.freed_by_input_gradient,
                         &costs.freed_by_weight_gradient}) {
      for (std::int64_t& amount : *memory) amount *= 4;
    }
    const int micro_batches = random.between(1, 20);
    costs.shortest = random.coin() ? Shortest::kSpan : Shortest::kMakespan;
    Duration before = Duration::max();
    for (int quarters = 4; quarters <= 40; quarters += random.between(1, 5)) {
      costs.limit = even_limits(costs, quarters);
      const Duration after = zb_auto(costs, micro_batches).span;
      CHECK(after <= before);
      before = after;
    }
  }
}

TEST_CASE("more memory on some ranks is never worse than none of them having it") {
  Random random(8);
  for (int n = 0; n < testing::draws(500); ++n) {
    CAPTURE(n);
    StageCosts costs = random_costs(random, 7);
    const int micro_batches = random.between(1, 20);
    costs.shortest = random.coin() ? Shortest::kSpan : Shortest::kMakespan;
    int least = 4 * micro_batches;
    for (std::size_t s = 0; s < costs.limit.size(); ++s) {
      const std::int64_t taken = std::max<std::int64_t>(1, costs.taken_by_forward[s]);
      least = static_cast<int>(std::min<std::int64_t>(least, 4 * costs.limit[s] / taken));
    }
    const Duration uneven = zb_auto(costs, micro_batches).span;
    for (const int quarters : {least, least - 1, least / 2}) {
      StageCosts less = costs;
      less.limit = even_limits(costs, std::max(4, quarters));
      CHECK(uneven <= zb_auto(less, micro_batches).span);
    }
  }
}

// A device type with more memory has as many bytes more on every rank, whatever the rest takes
// there.
TEST_CASE("as many bytes more on every rank never make it longer, whatever the ranks have") {
  Random random(9);
  for (int n = 0; n < testing::draws(150); ++n) {
    CAPTURE(n);
    StageCosts costs = random_costs(random, 6);
    const int micro_batches = random.between(1, 12);
    costs.shortest = random.coin() ? Shortest::kSpan : Shortest::kMakespan;
    CHECK(never_longer_with_more_bytes(random, costs, [&](const StageCosts& raised) {
      return zb_auto(raised, micro_batches).span;
    }));
  }
}

// Heuristics have anomalies: where ranks differ, it can happen.
TEST_CASE("raising limits of some ranks rarely makes it longer, and by little") {
  Random random(3);
  int longer = 0;
  double most = 0;
  for (int n = 0; n < testing::draws(1000); ++n) {
    StageCosts costs = random_costs(random, 7);
    const int micro_batches = random.between(1, 20);
    const Duration before = zb_auto(costs, micro_batches).span;
    const std::vector<std::int64_t> others = random_limits(random, costs);
    for (std::size_t rank = 0; rank < others.size(); ++rank) {
      costs.limit[rank] = std::max(costs.limit[rank], others[rank]);
    }
    const Duration after = zb_auto(costs, micro_batches).span;
    if (after <= before) continue;
    ++longer;
    most = std::max(most, static_cast<double>(after.count()) / static_cast<double>(before.count()));
  }
  CHECK(longer <= 10);
  CHECK(most <= 1.06);
}

// In quarters of an activation, since these pipelines are short.
std::vector<std::int64_t> limits_of(const StageCosts& costs, int rung, bool tapered,
                                    int micro_batches) {
  std::vector<std::int64_t> limits;
  for (std::size_t s = 0; s < costs.limit.size(); ++s) {
    const std::int64_t taken = costs.taken_by_forward[s];
    const std::int64_t held =
        taken == 0 ? 0 : std::min<std::int64_t>(4 * micro_batches, 4 * costs.limit[s] / taken);
    const int wanted = tapered ? std::max(4, rung - 4 * static_cast<int>(s / 2)) : rung;
    limits.push_back(std::min<std::int64_t>(wanted, held) * taken / 4);
  }
  return limits;
}

// The plain way: everything under every rung, to its end.
Duration shortest_under_these_limits(const StageCosts& costs, int micro_batches) {
  const std::size_t ranks = costs.limit.size();
  ZbHeuristic heuristic(costs, micro_batches, Shortest::kSpan);
  ZbGreedy greedy(costs, micro_batches, Shortest::kSpan);
  Duration best = Duration::max();
  for (const char* name : kHandcrafted) {
    const Lists lists = handcrafted(name, ranks, micro_batches);
    if (!within_limits(lists, costs)) continue;
    best = std::min(best, times_of(lists, costs, micro_batches).longest_span);
  }
  const auto all = limits_of(costs, 4 * micro_batches, false, micro_batches);
  for (int n = 8; n < 8 * micro_batches + 2; ++n) {
    const bool tapered = n % 2 == 1;
    const auto limits = limits_of(costs, n / 2, tapered, micro_batches);
    // From the highest rung that some rank can hold.
    if (tapered && limits_of(costs, n / 2 - 1, false, micro_batches) == all) break;
    for (int v = tapered ? 6 : 0; v < 10; ++v) {
      const int switches = v < 8 ? 7 - v : 9 - v;  // true first
      const ZbVariant variant{(switches & 4) != 0, (switches & 2) != 0, (switches & 1) != 0,
                              v >= 8};
      best = std::min(best, *heuristic.run(variant, limits, Duration::max()));
    }
    bool waits = false;
    for (std::size_t s = 0; s < ranks; ++s) {
      waits = waits || limits[s] < static_cast<std::int64_t>(ranks - s) * costs.taken_by_forward[s];
    }
    for (const InFlight in_flight : {InFlight::kAsMemoryAllows, InFlight::kAsNeeded}) {
      if (waits) best = std::min(best, *greedy.run({in_flight, false}, limits, Duration::max()));
    }
  }
  return best;
}

// And with one byte less after the other on all ranks.
Duration shortest_without_short_cuts(StageCosts costs, int micro_batches) {
  Duration best = Duration::max();
  const auto holds_one = [&] {
    for (std::size_t s = 0; s < costs.limit.size(); ++s) {
      if (costs.limit[s] < costs.taken_by_forward[s] || costs.limit[s] < 0) return false;
    }
    return true;
  };
  while (holds_one()) {
    best = std::min(best, shortest_under_these_limits(costs, micro_batches));
    for (std::int64_t& limit : costs.limit) --limit;
  }
  return best;
}

TEST_CASE("the short cuts change nothing") {
  Random random(4);
  for (int n = 0; n < testing::draws(500); ++n) {
    CAPTURE(n);
    const StageCosts costs = random_costs(random, 7);
    const int micro_batches = random.between(1, 16);
    CHECK(zb_auto(costs, micro_batches).span == shortest_without_short_cuts(costs, micro_batches));
  }
}

TEST_CASE("a ladder of limits has every quarter activation, whole ones where ranks are many") {
  StageCosts costs = unit_stages(3, 4);
  costs.taken_by_forward = {8, 10, 0};
  costs.limit = {100, 29, std::int64_t{1} << 62};
  const LimitLadder ladder(costs, 1, 6);
  CHECK(ladder.parts() == 4);
  CHECK(ladder.lowest() == 4);
  CHECK(ladder.highest() == 24);  // one per micro-batch
  std::vector<std::int64_t> limits(3);
  ladder.set_limits(24, RungShape::kEven, limits);
  CHECK(limits == std::vector<std::int64_t>{48, 27, 0});
  ladder.set_limits(7, RungShape::kEven, limits);
  CHECK(limits == std::vector<std::int64_t>{14, 17, 0});
  ladder.set_limits(10, RungShape::kTapered, limits);
  CHECK(limits == std::vector<std::int64_t>{20, 25, 0});
  CHECK(LimitLadder(unit_stages(9, 4), 1, 6).parts() == 2);
  CHECK(LimitLadder(unit_stages(17, 4), 1, 6).parts() == 1);
}

TEST_CASE("stages that cannot hold one micro-batch say what they need") {
  StageCosts costs = unit_stages(3, 4);
  costs.limit = {8, 1, 0};
  for (const AutomaticLists& found : {zb_published(costs, 4), zb_auto(costs, 4)}) {
    CHECK(found.lists.empty());
    CHECK(found.why_not ==
          "stage 2 needs 2 for the activation of one micro-batch, and the limit of rank 2 is 0: a "
          "limit of 2 there would do, or smaller micro-batches");
  }
}

std::string refusal(const StageCosts& costs, int micro_batches) {
  return tests::refusal_of([&] { static_cast<void>(zb_auto(costs, micro_batches)); });
}

TEST_CASE("costs that make no sense are refused") {
  StageCosts costs = unit_stages(2, 2);
  costs.forward[1] = Duration{-1};
  CHECK(refusal(costs, 2) ==
        "automatic schedule: a duration of -1 ns is negative; durations must be at least 0");
  costs.forward[1] = Duration::max() / 2;
  CHECK(refusal(costs, 4) ==
        "automatic schedule: 4.61e+18 ns for one micro-batch, 4 times, could exceed what 64 bits "
        "hold; "
        "are the units right?");
  costs.forward[1] = Duration{1};
  costs.freed_by_weight_gradient[1] = 2;
  CHECK(refusal(costs, 2) ==
        "automatic schedule: stage 1: F takes 2 of memory, I gives back 1 and W 2; they must be at "
        "least 0, and F must take what I and W give back");
  costs.taken_by_forward[1] = 1 + (costs.freed_by_weight_gradient[1] = std::int64_t{1} << 60);
  CHECK(
      refusal(costs, 4) ==
      "automatic schedule: stage 1: 1152921504606846977 of memory, 12 times, exceeds what 64 bits "
      "hold; are the units right?");
  costs.activation.clear();
  CHECK_THROWS_AS(static_cast<void>(zb_auto(costs, 2)), Error);
}

}  // namespace
}  // namespace penstock
