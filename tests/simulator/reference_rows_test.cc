// Published and tabulated results: docs/schedules.md, "Two bubbles" and "Reference rows".
#include <cmath>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "simulator/liveness.h"
#include "simulator/simulate.h"
#include "tests/simulator/pipelines.h"

namespace penstock {
namespace {

using testing::lowered;
using testing::RankCosts;
using testing::summary_of;

struct TableRow {
  const char* schedule;
  int chunks;
  std::int64_t unit;   // makespan and span with F = I = W = 1
  std::int64_t mixed;  // with F, I, W = 10, 12, 8
  std::vector<std::int64_t> peaks;
};

TEST_CASE("P = 4, M = 8 gives the table of makespans, spans and peaks") {
  const std::vector<TableRow> rows = {
      {"gpipe", 1, 3300, 330, {8, 8, 8, 8}},        {"1f1b", 1, 3300, 330, {4, 3, 2, 1}},
      {"interleaved", 2, 2850, 285, {11, 9, 7, 5}}, {"looped-bfs", 2, 2850, 285, {16, 16, 16, 16}},
      {"zb-h1", 1, 2700, 282, {4, 4, 4, 4}},
  };
  for (const TableRow& row : rows) {
    CAPTURE(row.schedule);
    const ScheduleShape shape{4, row.chunks, 8, 0};
    const TimelineSummary unit = summary_of(row.schedule, shape, {100, 100, 100, 0});
    CHECK(unit.makespan == Duration{row.unit});
    CHECK(unit.longest_span == Duration{row.unit});
    CHECK(unit.ideal == Duration{2400});
    const TimelineSummary mixed = summary_of(row.schedule, shape, {10, 12, 8, 0});
    CHECK(mixed.makespan == Duration{row.mixed});
    CHECK(mixed.longest_span == Duration{row.mixed});
    CHECK(mixed.ideal == Duration{240});
    std::vector<std::int64_t> peaks;
    for (const RankLiveness& rank : liveness(lowered(row.schedule, shape))) {
      peaks.push_back(rank.peak_chunks);
    }
    CHECK(peaks == row.peaks);
  }
}

struct PaperRow {
  int micro_batches;
  RankCosts costs;  // ns
  double one_f_one_b, interleaved, zb_h1, zb_h2, zb_1p, zb_2p;
};

// Of a transformer layer of h = 2304, a = 24 heads and sequences of s = 1024, per token: F takes
// 34 h + 5 a s bytes, of which W gives back 32 h.
constexpr std::int64_t kTaken = 201'216, kFreedByWeight = 73'728;

TimelineSummary summary_of_row(const PaperRow& row, const char* schedule, int chunks) {
  const ScheduleKind& kind = *find_schedule(schedule);
  const ScheduleShape shape{8, chunks, row.micro_batches};
  if (!kind.is_automatic()) return summary_of(schedule, shape, row.costs);
  StagePrices prices = testing::equal_prices(8, 1, row.costs);
  for (ComputePrice& price : prices.compute) {
    price.stash = Bytes{kTaken};
    price.weight_stash = Bytes{kFreedByWeight};
  }
  const StageCosts costs = stage_costs(prices, stage_ranks(kind.map, shape), {}, false);
  const Schedule arranged = kind.arrange(shape, costs).schedule;
  return simulate_summary(lower({testing::input_of(arranged)}, {}), prices, {});
}

// Zero-bubble paper (arXiv 2401.10241), model "1.5B", P = 8; 1F1B-I with V = 3 and every dependency
// modelled (the paper's own evaluator waits for fewer). By makespan, those that give up the common
// end of a step by span.
TEST_CASE("the bubble rates of the zero-bubble paper's 1.5B model come out within 1e-4") {
  const std::vector<PaperRow> rows = {
      {24, {18'522'000, 18'086'000, 9'337'000, 601'000}, .2431, .1090, .1585, .1083, .1585, .0433},
      {32, {18'513'000, 18'086'000, 9'331'000, 626'000}, .1985, .0847, .1242, .0837, .1242, .0039},
      {64, {18'546'000, 18'097'000, 9'321'000, 762'000}, .1240, .0461, .0674, .0444, .0674, .0026},
  };
  for (const PaperRow& row : rows) {
    const auto [f, i, w, c] = row.costs;
    const auto ideal = static_cast<double>(row.micro_batches * (f + i + w));
    const auto rate = [&](const char* schedule, int chunks, auto length) {
      const TimelineSummary summary = summary_of_row(row, schedule, chunks);
      return 1 - ideal / static_cast<double>((summary.*length).count());
    };
    constexpr auto kMakespan = &TimelineSummary::makespan;
    constexpr auto kSpan = &TimelineSummary::longest_span;
    CAPTURE(row.micro_batches);
    CHECK(std::abs(rate("1f1b", 1, kMakespan) - row.one_f_one_b) < 1e-4);
    CHECK(std::abs(rate("interleaved", 3, kMakespan) - row.interleaved) < 1e-4);
    CHECK(std::abs(rate("zb-h1", 1, kMakespan) - row.zb_h1) < 1e-4);
    CHECK(std::abs(rate("zb-h2", 1, kSpan) - row.zb_h2) < 1e-4);
    CHECK(std::abs(rate("zb-1p", 1, kSpan) - row.zb_1p) < 1e-4);
    CHECK(std::abs(rate("zb-2p", 1, kSpan) - row.zb_2p) < 1e-4);
  }
}

}  // namespace
}  // namespace penstock
