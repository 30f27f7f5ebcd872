#include <algorithm>
#include <cstdint>
#include <string>

#include <doctest/doctest.h>

#include "simulator/liveness.h"
#include "simulator/schedules/schedules.h"
#include "tests/simulator/pipelines.h"

namespace penstock {
namespace {

using testing::lowered;
using testing::text_of;

std::string slices_text(const Schedule& schedule, int rank, int slices) {
  return text_of(schedule, rank, [&](const ComputeAction& action) {
    const int entry = static_cast<int>(action.micro_batch.value);
    return std::string(name_of(action.kind)) + std::to_string(entry / slices) + "." +
           std::to_string(entry % slices);
  });
}

TEST_CASE("Seq1F1B runs the slices of a sequence forwards, and backwards from the last") {
  const Schedule schedule = make_schedule("seq-1f1b", {4, 1, 2, 0, 2});
  CHECK(slices_text(schedule, 3, 2) == "F0.0 F0.1 B0.1 F1.0 B0.0 F1.1 B1.1 B1.0");
  CHECK(slices_text(schedule, 0, 2) == "F0.0 F0.1 F1.0 F1.1 B0.1 B0.0 B1.1 B1.0");
  CHECK(schedule.micro_batches == 4);
}

TEST_CASE("with one slice Seq1F1B is 1F1B") {
  for (int p = 1; p <= 5; ++p) {
    for (int m = 1; m <= 12; ++m) {
      const Schedule sliced = make_schedule("seq-1f1b", {p, 1, m, 0, 1});
      const Schedule whole = make_schedule("1f1b", {p, 1, m});
      for (int rank = 0; rank < p; ++rank) CHECK(sliced.list(rank) == whole.list(rank));
    }
  }
}

// A slice attends to those before it: its forward follows theirs, its backward precedes theirs.
TEST_CASE("slices of a sequence follow each other on every stage") {
  for (int p = 1; p <= 4; ++p) {
    for (int q = 1; q <= 5; ++q) {
      const Schedule schedule = make_schedule("seq-1f1b", {p, 1, 4, 0, q});
      for (int rank = 0; rank < p; ++rank) {
        std::vector<int> forwards(4, 0), backwards(4, q);
        for (const ComputeAction& action : schedule.list(rank)) {
          const auto sequence = action.micro_batch.value / static_cast<std::uint32_t>(q);
          const int slice = static_cast<int>(action.micro_batch.value) % q;
          if (action.kind == ActionKind::kForward) {
            CHECK(slice == forwards[sequence]++);
          } else {
            CHECK(slice == --backwards[sequence]);
          }
        }
      }
    }
  }
}

TEST_CASE("q slices divide the bubble by q, and the stash too") {
  for (const int p : {2, 3, 4, 8}) {
    for (int q = 1; q <= 4; ++q) {
      for (int m = 1; m <= 4 * p; ++m) {
        const ScheduleShape shape{p, 1, m, 0, q};
        // A slice takes F = 10, B = 17: the bubble is (P - 1) of both.
        CHECK(testing::makespan_of("seq-1f1b", shape, {10, 9, 8, 0}) ==
              Duration{(m * q + p - 1) * 27});
        const auto ranks = liveness(lowered("seq-1f1b", shape));
        for (int r = 0; r < p; ++r) {
          const int warm = std::min(p - r - 2 + q, m * q);
          CHECK(ranks[static_cast<std::size_t>(r)].peak_chunks == std::min(warm + 1, m * q));
        }
      }
    }
  }
}

TEST_CASE("Seq1F1B leaves its form when transfers take time") {
  CHECK(testing::makespan_of("seq-1f1b", {4, 1, 4, 0, 2}, {10, 9, 8, 1}) > Duration{11 * 27});
}

TEST_CASE("only Seq1F1B has slices") {
  const auto why_not = [](std::string_view name, const ScheduleShape& shape) {
    return why_no_schedule(*find_schedule(name), shape);
  };
  CHECK(why_not("1f1b", {4, 1, 8, 0, 2}) ==
        "1f1b: 2 slices mean nothing here, only seq-1f1b cuts sequences; leave it out");
  CHECK(why_not("seq-1f1b", {4, 1, 8, 0, 0}) ==
        "seq-1f1b: 0 slices of a sequence; there must be at least 1");
  CHECK(why_not("seq-1f1b", {4, 2, 8, 0, 2}) ==
        "V = 2: this schedule has one stage per rank; use -V 1, or interleaved or looped-bfs for "
        "several");
}

}  // namespace
}  // namespace penstock
