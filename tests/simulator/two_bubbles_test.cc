// The table of docs/schedules.md, "Two bubbles": P = 4, M = 8, every schedule, both sets of costs.
#include <cstdint>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "simulator/liveness.h"
#include "tests/simulator/pipelines.h"

namespace penstock {
namespace {

using testing::lowered;
using testing::summary_of;

struct Row {
  std::string_view name;
  int chunks;
  // Tenths of the unit for F = I = W = 1; then for 10, 12, 8.
  std::int64_t equal_makespan, equal_span, makespan, span;
  std::vector<std::int64_t> peaks;
};

const std::vector<Row> kRows = {
    {"gpipe", 1, 330, 330, 330, 330, {8, 8, 8, 8}},
    {"1f1b", 1, 330, 330, 330, 330, {4, 3, 2, 1}},
    {"interleaved", 2, 285, 285, 285, 285, {11, 9, 7, 5}},
    {"looped-bfs", 2, 285, 285, 285, 285, {16, 16, 16, 16}},
    {"zb-h1", 1, 270, 270, 282, 282, {4, 4, 4, 4}},
    {"zb-h2", 1, 270, 240, 270, 258, {7, 7, 7, 7}},
    {"interleaved-zb", 2, 255, 255, 261, 261, {8, 8, 8, 8}},
    {"zb-v", 2, 255, 240, 258, 252, {8, 8, 8, 8}},
    {"dualpipe-v", 2, 270, 270, 276, 276, {9, 9, 9, 9}},
};

TEST_CASE("makespan, span and stash of every schedule are those of the table") {
  for (const Row& row : kRows) {
    CAPTURE(row.name);
    const ScheduleShape shape{4, row.chunks, 8, 0};
    const TimelineSummary equal = summary_of(row.name, shape, {10, 10, 10, 0});
    CHECK(equal.ideal == Duration{240});
    CHECK(equal.makespan == Duration{row.equal_makespan});
    CHECK(equal.longest_span == Duration{row.equal_span});
    const TimelineSummary uneven = summary_of(row.name, shape, {10, 12, 8, 0});
    CHECK(uneven.ideal == Duration{240});
    CHECK(uneven.makespan == Duration{row.makespan});
    CHECK(uneven.longest_span == Duration{row.span});
    std::vector<std::int64_t> peaks;
    for (const RankLiveness& rank : liveness(lowered(row.name, shape))) {
      peaks.push_back(rank.peak_chunks);
    }
    CHECK(peaks == row.peaks);
  }
}

}  // namespace
}  // namespace penstock
