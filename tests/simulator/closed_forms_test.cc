// Every closed form of docs/schedules.md, to the nanosecond, on its domain; and a case outside it
// where the simulator does not follow the form.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>

#include <doctest/doctest.h>

#include "simulator/liveness.h"
#include "simulator/simulate.h"
#include "tests/simulator/pipelines.h"

namespace penstock {
namespace {

using testing::lowered;
using testing::makespan_of;
using testing::RankCosts;
using testing::summary_of;

constexpr std::initializer_list<int> kRanks = {2, 3, 4, 8};
constexpr std::initializer_list<int> kChunks = {2, 3, 4};
// Whole ranks, in ns; every F, I and W can be divided by 2, 3 and 4.
constexpr std::initializer_list<RankCosts> kCosts = {
    {12, 12, 12, 0}, {120, 144, 96, 0}, {1200, 600, 2400, 0}, {2400, 3600, 1212, 0}};

std::int64_t backward(const RankCosts& c) { return c.input_gradient + c.weight_gradient; }
RankCosts with_transfer(RankCosts costs, std::int64_t c) {
  costs.transfer = c;
  return costs;
}
ScheduleShape one_chunk(int p, int m) { return {p, 1, m, 0}; }

TEST_CASE("GPipe takes (M + P - 1)(F + B) and 2 (P - 1) transfers") {
  for (const int p : kRanks) {
    for (int m = 1; m <= 4 * p + 1; ++m) {
      for (const RankCosts& costs : kCosts) {
        // The forward wave crosses every link once, and so does the backward wave.
        for (const std::int64_t c : {0, 1, 7, 5000}) {
          const Duration expected{(m + p - 1) * (costs.forward + backward(costs)) +
                                  2 * c * (p - 1)};
          CHECK(makespan_of("gpipe", one_chunk(p, m), with_transfer(costs, c)) == expected);
        }
      }
    }
  }
}

// The floor of a negative quotient, so that the form holds at M = 1 too.
std::int64_t one_f_one_b_form(std::int64_t p, std::int64_t m, const RankCosts& costs) {
  const std::int64_t turns = m >= 2 ? (m - 2) / p : -1;
  return (m + p - 1) * (costs.forward + backward(costs)) + 2 * costs.transfer * (p + m - 3 - turns);
}

TEST_CASE("1F1B takes (M + P - 1)(F + B) + 2c (P + M - 3 - floor((M - 2) / P)), whatever c") {
  for (const int p : kRanks) {
    for (int m = 1; m <= 4 * p + 1; ++m) {
      for (const RankCosts& costs : kCosts) {
        for (const std::int64_t c : {0, 1, 7, 600, 50'000}) {
          const RankCosts priced = with_transfer(costs, c);
          CHECK(makespan_of("1f1b", one_chunk(p, m), priced) ==
                Duration{one_f_one_b_form(p, m, priced)});
        }
      }
    }
  }
}

TEST_CASE("1F1B is exact for very many micro-batches: nothing is cut short") {
  const RankCosts costs{18'522, 18'086, 9'337, 601};
  for (const int m : {5000, 16'000, 1'000'000}) {
    const int p = m > 100'000 ? 2 : 4;
    const TimelineSummary summary = summary_of("1f1b", one_chunk(p, m), costs);
    CHECK(summary.makespan == Duration{one_f_one_b_form(p, m, costs)});
    CHECK(summary.ideal == Duration{m * (costs.forward + backward(costs))});
  }
}

TEST_CASE("unequal stages do not follow the forms of equal ones") {
  // Rank 1 takes F = 20 and B = 30 where rank 0 takes 10 and 20; M = 2. GPipe:
  //   0: F0 F1 . . . . . B0 B1        F0 of rank 1 ends at 30, F1 at 50, B0 at 80, B1 at 110,
  //   1: .  F0 F1 B0 B1 .             then rank 0 runs B1 from 110 to 130.
  for (const auto* const name : {"gpipe", "1f1b"}) {
    StagePrices prices = testing::equal_prices(2, 1, {10, 20, 0, 0});
    prices.compute[1].forward.duration = Duration{20};
    prices.compute[1].fused_backward.duration = Duration{30};
    const TimelineSummary summary = simulate_summary(lowered(name, one_chunk(2, 2)), prices, {});
    CHECK(summary.makespan == Duration{130});
    CHECK(summary.makespan != Duration{(2 + 2 - 1) * 30});
    CHECK(summary.makespan != Duration{(2 + 2 - 1) * 50});
  }
}

std::int64_t interleaved_form(std::int64_t p, std::int64_t v, std::int64_t m,
                              const RankCosts& costs) {
  const std::int64_t both = costs.forward + backward(costs);
  return m * both + (p - 1) * both / v + 2 * costs.transfer * (p * v - 1);
}

TEST_CASE("interleaved 1F1B divides the bubble by V and pays 2c (PV - 1)") {
  for (const int p : kRanks) {
    for (const int v : kChunks) {
      for (int rounds = 1; rounds <= 5; ++rounds) {
        const int m = rounds * p;
        for (const RankCosts& costs : kCosts) {
          const std::int64_t most = std::min(costs.forward, backward(costs)) / v;
          for (const std::int64_t c : {std::int64_t{0}, std::int64_t{1}, most / 2, most}) {
            const RankCosts priced = with_transfer(costs, c);
            CHECK(makespan_of("interleaved", {p, v, m, 0}, priced) ==
                  Duration{interleaved_form(p, v, m, priced)});
          }
        }
      }
    }
  }
}

TEST_CASE("interleaved 1F1B leaves its form when c > min(f, b) or M < P") {
  const RankCosts slow{120, 144, 96, 61};  // f = 60, b = 120
  CHECK(makespan_of("interleaved", {4, 2, 8, 0}, slow) > Duration{interleaved_form(4, 2, 8, slow)});
  const RankCosts plain{120, 144, 96, 0};
  CHECK(makespan_of("interleaved", {4, 2, 3, 0}, plain) >
        Duration{interleaved_form(4, 2, 3, plain)});
}

TEST_CASE("every allowed group has the bubble (P - 1)(F + B) / V when transfers are free") {
  const RankCosts costs{120, 144, 96, 0};
  for (const int p : kRanks) {
    for (const int v : kChunks) {
      for (int m = p; m <= 3 * p + 1; ++m) {
        for (int g = 0; g <= m; ++g) {
          const ScheduleShape shape{p, v, m, g};
          if (!why_no_schedule(*find_schedule("interleaved"), shape).empty()) continue;
          CHECK(makespan_of("interleaved", shape, costs) ==
                Duration{interleaved_form(p, v, m, costs)});
        }
      }
    }
  }
}

// M = 10 = 2 rounds of 5 on 4 ranks: an activation has a slot to spare on its way round the ring.
TEST_CASE("interleaved 1F1B in groups larger than P keeps the bubble and hides transfers") {
  const RankCosts plain{120, 144, 96, 0};
  CHECK(makespan_of("interleaved", {4, 2, 10, 0}, plain) ==
        Duration{interleaved_form(4, 2, 10, plain)});
  const RankCosts linked{120, 144, 96, 10};
  CHECK(makespan_of("interleaved", {4, 2, 10, 0}, linked) <
        Duration{interleaved_form(4, 2, 10, linked)});
}

std::int64_t looped_form(std::int64_t p, std::int64_t v, std::int64_t m, const RankCosts& costs) {
  const std::int64_t both = costs.forward + backward(costs);
  return m * both + (p - 1) * (both / v + 2 * costs.transfer);
}

TEST_CASE("LoopedBFS has the bubble (P - 1)(f + b + 2c) while cP <= (M - P) min(f, b)") {
  for (const int p : kRanks) {
    for (const int v : kChunks) {
      for (int m = p; m <= 4 * p + 1; ++m) {
        for (const RankCosts& costs : kCosts) {
          const std::int64_t most = (m - p) * (std::min(costs.forward, backward(costs)) / v) / p;
          for (const std::int64_t c : {std::int64_t{0}, most / 2, most}) {
            const RankCosts priced = with_transfer(costs, c);
            CHECK(makespan_of("looped-bfs", {p, v, m, 0}, priced) ==
                  Duration{looped_form(p, v, m, priced)});
          }
        }
      }
    }
  }
}

TEST_CASE("LoopedBFS at M = P pays 2c (PV - 1), whatever c") {
  for (const int p : kRanks) {
    for (const int v : kChunks) {
      for (const RankCosts& costs : kCosts) {
        for (const std::int64_t c : {1, 7, 90, 10'000}) {
          const RankCosts priced = with_transfer(costs, c);
          CHECK(makespan_of("looped-bfs", {p, v, p, 0}, priced) ==
                Duration{interleaved_form(p, v, p, priced)});
        }
      }
    }
  }
}

TEST_CASE("LoopedBFS leaves its form when transfers are slow or M < P") {
  const RankCosts slow{120, 144, 96, 31};  // M = 6, P = 4, f = 60: c P <= 120 ends at c = 30
  CHECK(makespan_of("looped-bfs", {4, 2, 6, 0}, slow) > Duration{looped_form(4, 2, 6, slow)});
  const RankCosts plain{120, 144, 96, 0};
  CHECK(makespan_of("looped-bfs", {4, 2, 3, 0}, plain) > Duration{looped_form(4, 2, 3, plain)});
}

// W <= F, W <= I.
constexpr std::initializer_list<RankCosts> kSplitCosts = {
    {10, 10, 10, 0}, {10, 12, 8, 0}, {100, 150, 60, 0}, {185, 181, 93, 0}};

std::int64_t zb_h1_form(std::int64_t p, std::int64_t m, const RankCosts& costs) {
  const auto [f, i, w, c] = costs;
  return m * (f + i + w) + (p - 1) * (f + i - w + 4 * c);
}

TEST_CASE("ZB-H1 has the bubble (P - 1)(F + I - W) from M = P on") {
  for (const int p : kRanks) {
    for (int m = p; m <= 4 * p + 1; ++m) {
      for (const RankCosts& costs : kSplitCosts) {
        CHECK(makespan_of("zb-h1", one_chunk(p, m), costs) == Duration{zb_h1_form(p, m, costs)});
      }
    }
  }
}

TEST_CASE("ZB-H1 has the bubble (P - 1)(F + I - W + 4c) from M = P + 1 on while 2c <= W") {
  for (const int p : kRanks) {
    for (int m = p + 1; m <= 4 * p + 1; ++m) {
      for (const RankCosts& costs : kSplitCosts) {
        const std::int64_t w = costs.weight_gradient;
        for (const std::int64_t c : {std::int64_t{1}, w / 4, w / 2}) {
          const RankCosts priced = with_transfer(costs, c);
          CHECK(makespan_of("zb-h1", one_chunk(p, m), priced) ==
                Duration{zb_h1_form(p, m, priced)});
        }
      }
    }
  }
}

TEST_CASE("ZB-H1 leaves its form when W is long, transfers are slow or micro-batches few") {
  const auto differs = [](int p, int m, const RankCosts& costs) {
    return makespan_of("zb-h1", one_chunk(p, m), costs) != Duration{zb_h1_form(p, m, costs)};
  };
  CHECK(differs(4, 8, {10, 10, 11, 0}));
  CHECK(differs(4, 8, {10, 12, 8, 5}));
  CHECK(differs(4, 4, {10, 12, 8, 4}));
  CHECK(differs(4, 3, {10, 12, 8, 0}));
}

std::int64_t zb_h2_span(std::int64_t p, std::int64_t m, const RankCosts& costs) {
  const auto [f, i, w, c] = costs;
  return m * (f + i + w) + (p - 1) * (f + i + 2 * c - 2 * w);
}

TEST_CASE("ZB-H2 has the span bubble (P - 1)(F + I + 2c - 2W) from M = 2P on while 2c <= W") {
  for (const int p : kRanks) {
    for (int m = 2 * p; m <= 4 * p + 1; ++m) {
      for (const RankCosts& costs : kSplitCosts) {
        const std::int64_t w = costs.weight_gradient;
        for (const std::int64_t c : {std::int64_t{0}, std::int64_t{1}, w / 4, w / 2}) {
          const RankCosts priced = with_transfer(costs, c);
          CHECK(summary_of("zb-h2", one_chunk(p, m), priced).longest_span ==
                Duration{zb_h2_span(p, m, priced)});
        }
      }
    }
  }
}

TEST_CASE("ZB-H2 leaves its form when W is long, transfers are slow or micro-batches few") {
  const auto differs = [](int p, int m, const RankCosts& costs) {
    return summary_of("zb-h2", one_chunk(p, m), costs).longest_span !=
           Duration{zb_h2_span(p, m, costs)};
  };
  CHECK(differs(4, 8, {10, 10, 15, 0}));
  CHECK(differs(4, 8, {10, 12, 8, 12}));
  CHECK(differs(4, 5, {10, 12, 8, 0}));
}

// peak(rank) in chunks, from F to B or W.
void check_peaks(std::string_view name, const ScheduleShape& shape,
                 const std::function<std::int64_t(int)>& peak) {
  const auto ranks = liveness(lowered(name, shape));
  for (int r = 0; r < shape.ranks; ++r) {
    CAPTURE(name);
    CAPTURE(shape.ranks);
    CAPTURE(shape.micro_batches);
    CAPTURE(r);
    CHECK(ranks[static_cast<std::size_t>(r)].peak_chunks == peak(r));
  }
}

TEST_CASE("a rank stashes what the overview says") {
  for (const int p : kRanks) {
    for (int m = 1; m <= 4 * p; ++m) {
      check_peaks("gpipe", one_chunk(p, m), [&](int) { return m; });
      check_peaks("1f1b", one_chunk(p, m), [&](int r) { return std::min(p - r, m); });
      check_peaks("zb-h1", one_chunk(p, m), [&](int) { return std::min(p, m); });
      for (const int v : kChunks) {
        check_peaks("looped-bfs", {p, v, m, 0}, [&](int) { return m * v; });
        const ScheduleShape shape{p, v, m, 0};
        if (!why_no_schedule(*find_schedule("interleaved"), shape).empty()) continue;
        const int group = m / std::max(1, m / p);
        check_peaks("interleaved", shape,
                    [&](int r) { return std::min((v - 1) * group + 2 * (p - 1 - r) + 1, m * v); });
      }
    }
  }
}

TEST_CASE("the stash of interleaved 1F1B follows Megatron's group") {
  check_peaks("interleaved", {4, 2, 9, 5}, [](int r) { return 5 + 2 * (3 - r) + 1; });
  check_peaks("interleaved", {2, 3, 8, 4}, [](int r) { return 2 * 4 + 2 * (1 - r) + 1; });
}

// In bytes with A = 10 and A_W = 4: the stash is A until I, then A_W.
std::int64_t peak_in_bytes(const RankLiveness& rank) {
  std::int64_t peak = 0;
  for (const LiveCounts& counts : rank.peaks) {
    peak = std::max(peak, std::int64_t{10} * counts.stash[0] + 4 * counts.weight_stash[0]);
  }
  return peak;
}

TEST_CASE("rank r of ZB-H1 holds P - r whole stashes and the weight part of r more") {
  for (const int p : kRanks) {
    for (int m = p; m <= 4 * p; ++m) {
      const auto ranks = liveness(lowered("zb-h1", one_chunk(p, m)));
      for (int r = 0; r < p; ++r) {
        CHECK(peak_in_bytes(ranks[static_cast<std::size_t>(r)]) == 10 * (p - r) + 4 * r);
      }
    }
  }
}

TEST_CASE("rank r of ZB-H2 holds 2P - 2r - 1 whole stashes and the weight part of 2r more") {
  for (const int p : kRanks) {
    for (int m = 2 * p; m <= 4 * p; ++m) {
      check_peaks("zb-h2", one_chunk(p, m), [&](int) { return 2 * p - 1; });
      const auto ranks = liveness(lowered("zb-h2", one_chunk(p, m)));
      for (int r = 0; r < p; ++r) {
        CHECK(peak_in_bytes(ranks[static_cast<std::size_t>(r)]) ==
              10 * (2 * p - 2 * r - 1) + 8 * r);
      }
    }
  }
}

}  // namespace
}  // namespace penstock
