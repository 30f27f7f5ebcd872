#include "simulator/schedules/v_half_min.h"

#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

#include "simulator/liveness.h"
#include "simulator/schedules/schedules.h"
#include "tests/simulator/pipelines.h"

namespace penstock {
namespace {

using testing::lowered;
using testing::summary_of;
using testing::text_of;

std::vector<LegSlots> patterns(VMemory memory) {
  std::vector<LegSlots> slots;
  for (int rank = 0; rank < 4; ++rank) slots.push_back(v_pattern(memory, 4, rank));
  return slots;
}

// arXiv 2405.15362, worked out in the reference of the schedule, as are the lists below.
TEST_CASE("P = 4: the slots of a micro-batch") {
  CHECK(patterns(VMemory::kMin) ==
        std::vector<LegSlots>{{0, 7, 8, 15}, {1, 6, 9, 14}, {2, 5, 10, 13}, {3, 4, 11, 12}});
  CHECK(patterns(VMemory::kHalf) ==
        std::vector<LegSlots>{{0, 10, 14, 25}, {2, 9, 16, 24}, {4, 8, 18, 23}, {6, 7, 20, 22}});
}

// Else two legs would be due at once.
TEST_CASE("the slots of a rank differ modulo the period") {
  for (const VMemory memory : {VMemory::kHalf, VMemory::kMin}) {
    for (int ranks = 1; ranks <= 100; ++ranks) {
      for (int rank = 0; rank < ranks; ++rank) {
        LegSlots slots = v_pattern(memory, ranks, rank);
        for (int& slot : slots) slot %= kPeriod;
        std::sort(slots.begin(), slots.end());
        CHECK(std::adjacent_find(slots.begin(), slots.end()) == slots.end());
      }
    }
  }
}

TEST_CASE("P = 4, M = 3, character by character") {
  CHECK(text_of(make_schedule("v-min", {4, 2, 3}), 3) ==
        "3F0 4F0 3F1 4F1 4I0 3I0 4W0 3W0 3F2 4F2 4I1 3I1 4W1 3W1 4I2 3I2 4W2 3W2");
  CHECK(text_of(make_schedule("v-half", {4, 2, 3}), 2) ==
        "2F0 2F1 2F2 5F0 5F1 5F2 5I0 5W0 5I1 2I0 5W1 2W0 2I1 5I2 5W2 2W1 2I2 2W2");
}

// One rank: slots 0, 1, 2, 3 and two W, then the next micro-batch.
TEST_CASE("one rank goes through its micro-batches one by one") {
  CHECK(text_of(make_schedule("v-min", {1, 2, 2}), 0) ==
        "0F0 1F0 1I0 0I0 1W0 0W0 0F1 1F1 1I1 0I1 1W1 0W1");
}

// The plain way: everything made, nothing repeated.
TEST_CASE("lists whose steady state is repeated are those made in full") {
  for (const char* name : {"v-half", "v-min"}) {
    const VMemory memory = name[2] == 'h' ? VMemory::kHalf : VMemory::kMin;
    for (int ranks = 1; ranks <= 12; ++ranks) {
      for (int m = 1; m <= 6 * ranks + 2; ++m) {
        const Schedule rolled = make_schedule(name, {ranks, 2, m});
        const auto plain = v_lists(memory, ranks, m);
        for (int rank = 0; rank < ranks; ++rank) {
          REQUIRE(rolled.list(rank) == plain[static_cast<std::size_t>(rank)]);
        }
      }
    }
  }
}

// Counted in the lists, from F to W.
int most_held(const Schedule& schedule) {
  int most = 0;
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    int held = 0;
    for (const ComputeAction& action : schedule.list(rank)) {
      held += action.kind == ActionKind::kForward ? 1 : 0;
      held -= action.kind == ActionKind::kWeightGradient ? 1 : 0;
      most = std::max(most, held);
    }
  }
  return most;
}

// 1F1B holds P, so a half and a third of it, rounded, and one more.
TEST_CASE("V-Half holds floor(P / 2) + 1 micro-batches of a rank, V-Min floor((P + 1) / 3) + 1") {
  for (int p = 1; p <= 24; ++p) {
    for (const int m : {p, 2 * p, 4 * p + 1}) {
      CAPTURE(p);
      CAPTURE(m);
      const int half = 2 * std::min(p / 2 + 1, m), third = 2 * std::min((p + 1) / 3 + 1, m);
      CHECK(most_held(make_schedule("v-half", {p, 2, m})) == half);
      CHECK(most_held(make_schedule("v-min", {p, 2, m})) == third);
    }
  }
  for (const RankLiveness& rank : liveness(lowered("v-half", {8, 2, 32}))) {
    CHECK(rank.peak_chunks == 10);
  }
}

// With F = I = W 1F1B idles for 6 (P - 1) slots of a chunk's action. Published: half of that, and
// two thirds, but for a constant; the constants are what comes out.
TEST_CASE("the bubbles are a half and two thirds of that of 1F1B, less a constant") {
  for (int p = 3; p <= 12; ++p) {
    for (const int m : {2 * p, 3 * p, 4 * p + 1}) {
      CAPTURE(p);
      CAPTURE(m);
      const Duration work{6 * m};
      const TimelineSummary half = summary_of("v-half", {p, 2, m}, {2, 2, 2, 0});
      CHECK(half.makespan - work == Duration{p % 2 == 0 ? 3 * p - 7 : 3 * p - 4});
      CHECK(half.longest_span == half.makespan);
      const TimelineSummary third = summary_of("v-min", {p, 2, m}, {2, 2, 2, 0});
      CHECK(third.makespan - work == Duration{p % 3 == 0 ? 4 * p - 7 : 4 * p - 5});
      CHECK(third.longest_span == third.makespan);
    }
  }
}

}  // namespace
}  // namespace penstock
