#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>

#include <doctest/doctest.h>

#include "simulator/liveness.h"
#include "simulator/schedules/schedules.h"
#include "simulator/simulate.h"
#include "tests/simulator/pipelines.h"

namespace penstock {
namespace {

using testing::lowered;
using testing::text_of;

std::string why_not(const ScheduleShape& shape) {
  return why_no_schedule(*find_schedule("chimera"), shape);
}

// F and I + W of a stage of either copy, a whole P-th of the model.
TimelineSummary summary_of_equal(int ranks, int micro_batches, std::int64_t forward,
                                 std::int64_t backward) {
  return simulate_summary(lowered("chimera", {ranks, 2, micro_batches, 0}),
                          testing::equal_prices(2 * ranks, 1, {forward, backward, 0, 0}), {});
}

TEST_CASE("Chimera sorts the slots of both directions") {
  const Schedule schedule = make_schedule("chimera", {4, 2, 4, 0});
  const auto name = [&](const ComputeAction& action) {
    const int stage = action.stage.value % 4;
    const int micro_batch = static_cast<int>(action.micro_batch.value) % 2;
    return (action.stage.value < 4 ? "d" : "u") + std::to_string(stage) +
           std::string(name_of(action.kind)) + std::to_string(micro_batch);
  };
  CHECK(text_of(schedule, 0, name) == "d0F0 d0F1 u3F0 u3B0 u3F1 u3B1 d0B0 d0B1");
  CHECK(text_of(schedule, 1, name) == "d1F0 u2F0 d1F1 u2F1 u2B0 d1B0 u2B1 d1B1");
}

// Every rank sorted by slot, unit by unit as the rule says it, without windows.
TEST_CASE("Chimera's list is the slots of all units in order") {
  for (const int d : {2, 4, 6, 8}) {
    for (const int units : {1, 2, 3, 5}) {
      const Schedule schedule = make_schedule("chimera", {d, 2, units * d, 0});
      for (int rank = 0; rank < d; ++rank) {
        std::vector<std::tuple<int, ActionKind, int, int>> slots;
        for (int k = 0; k < units; ++k) {
          for (int m = 0; m < d / 2; ++m) {
            for (const int copy : {0, 1}) {
              const int s = copy == 0 ? rank : d - 1 - rank;
              const int entry = copy * units * d / 2 + k * d / 2 + m;
              slots.emplace_back(2 * d * k + s + 2 * m, ActionKind::kForward, copy * d + s, entry);
              slots.emplace_back(2 * d * k + 2 * d - 1 - s + 2 * m, ActionKind::kFusedBackward,
                                 copy * d + s, entry);
            }
          }
        }
        std::sort(slots.begin(), slots.end());
        const auto list = schedule.list(rank);
        REQUIRE(list.size() == slots.size());
        for (std::size_t i = 0; i < list.size(); ++i) {
          const auto [slot, kind, stage, entry] = slots[i];
          CHECK((i == 0 || slot != std::get<0>(slots[i - 1])));  // no collisions
          CHECK(list[i].kind == kind);
          CHECK(list[i].stage.value == stage);
          CHECK(static_cast<int>(list[i].micro_batch.value) == entry);
        }
      }
    }
  }
}

TEST_CASE("with F = B Chimera idles D - 2 slots, whatever the number of units") {
  for (const int d : {2, 4, 6, 8}) {
    for (int units = 1; units <= 5; ++units) {
      const int m = units * d;
      CHECK(summary_of_equal(d, m, 1, 1).makespan == Duration{2 * m + d - 2});
      CHECK(summary_of_equal(d, m, 1, 1).ideal == Duration{2 * m});
    }
  }
  // And one slot for the reduction after it, as the text counts: 11, 19, 23.
  CHECK(summary_of_equal(4, 4, 1, 1).makespan == Duration{11 - 1});
  CHECK(summary_of_equal(4, 8, 1, 1).makespan == Duration{19 - 1});
  CHECK(summary_of_equal(8, 8, 1, 1).makespan == Duration{23 - 1});
}

TEST_CASE("with B = 2F Chimera's idle time grows with the units") {
  const auto idle = [](int units) {
    const TimelineSummary summary = summary_of_equal(4, 4 * units, 1, 2);
    return summary.makespan - summary.ideal;
  };
  CHECK(idle(1) == Duration{4});
  CHECK(idle(2) == Duration{6});
  CHECK(idle(4) == Duration{10});
}

TEST_CASE("rank r of Chimera holds D / 2 + 1 + min(r, D - 1 - r) micro-batches") {
  for (const int d : {4, 6, 8}) {
    for (int units = 1; units <= 4; ++units) {
      const auto ranks = liveness(lowered("chimera", {d, 2, units * d, 0}));
      for (int r = 0; r < d; ++r) {
        CHECK(ranks[static_cast<std::size_t>(r)].peak_chunks ==
              std::min(d / 2 + 1 + std::min(r, d - 1 - r), d * units));
      }
    }
  }
}

TEST_CASE("Chimera wants an even P and a multiple of it") {
  CHECK(why_not({3, 2, 6, 0}) ==
        "chimera: P = 3 is odd, but the pipeline runs both ways; use 2 or 4");
  CHECK(why_not({1, 2, 6, 0}) == "chimera: P = 1 is odd, but the pipeline runs both ways; use 2");
  CHECK(why_not({4, 2, 6, 0}) == "chimera: M = 6 is not a multiple of P = 4; use 4 or 8");
  CHECK(why_not({4, 2, 3, 0}) == "chimera: M = 3 is not a multiple of P = 4; use 4");
}

}  // namespace
}  // namespace penstock
