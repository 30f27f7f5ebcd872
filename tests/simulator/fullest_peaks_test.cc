#include "simulator/fullest_peaks.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "simulator/held_counts.h"
#include "simulator/schedules/schedules.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using Indices = std::vector<std::size_t>;

// One chunk: stash and weight stash.
LiveCounts at(std::int32_t stash, std::int32_t weight_stash) { return {{stash}, {weight_stash}}; }

TEST_CASE("the ends of a line are enough, whatever stands between them") {
  CHECK(fullest_peaks({at(4, 0), at(3, 1), at(2, 2), at(1, 3), at(0, 4)}) == Indices{0, 4});
  CHECK(fullest_peaks({at(4, 0), at(2, 1), at(0, 4)}) == Indices{0, 2});     // below the line
  CHECK(fullest_peaks({at(4, 0), at(3, 3), at(0, 4)}) == Indices{0, 1, 2});  // above it
  CHECK(fullest_peaks({at(4, 0), at(0, 4)}) == Indices{0, 1});
  CHECK(fullest_peaks({at(4, 0)}) == Indices{0});
  CHECK(fullest_peaks({}).empty());
}

// (3, 2) lies between (6, 0) and (0, 4); (3, 3) does not.
TEST_CASE("what is left out is below a place between two others, to the fraction") {
  CHECK(fullest_peaks({at(6, 0), at(3, 2), at(0, 4)}) == Indices{0, 2});
  CHECK(fullest_peaks({at(7, 0), at(4, 2), at(0, 4)}) == Indices{0, 1, 2});  // 4 > 7 / 2
}

std::int64_t bytes_of(const LiveCounts& counts, const std::vector<std::int64_t>& bytes) {
  std::int64_t sum = 0;
  for (std::size_t c = 0; c < counts.stash.size(); ++c) {
    sum += counts.stash[c] * bytes[2 * c] + counts.weight_stash[c] * bytes[2 * c + 1];
  }
  return sum;
}

// Against the largest of all, for random bytes, zeros among them.
void compare(const std::vector<LiveCounts>& peaks, std::mt19937& random) {
  const Indices fullest = fullest_peaks(peaks);
  REQUIRE(fullest.empty() == peaks.empty());
  REQUIRE(std::is_sorted(fullest.begin(), fullest.end()));
  for (int draw = 0; draw < 20; ++draw) {
    std::vector<std::int64_t> bytes;
    for (std::size_t i = 0; i < 2 * peaks.front().stash.size(); ++i) {
      bytes.push_back(random() % 3 == 0 ? 0 : random() % 1000);
    }
    std::int64_t most = 0, of_fullest = 0;
    for (const LiveCounts& counts : peaks) most = std::max(most, bytes_of(counts, bytes));
    for (const std::size_t i : fullest) {
      of_fullest = std::max(of_fullest, bytes_of(peaks[i], bytes));
    }
    REQUIRE(of_fullest == most);
  }
}

TEST_CASE("the largest peak is among them, of random counts") {
  std::mt19937 random(5);
  for (int round = 0; round < testing::draws(500); ++round) {
    const std::size_t chunks = 1 + random() % 4;
    const auto largest = static_cast<std::uint32_t>(round % 2 == 0 ? 4 : 1'000'000);
    std::vector<LiveCounts> peaks(1 + random() % 30);
    for (LiveCounts& counts : peaks) {
      for (std::size_t c = 0; c < chunks; ++c) {
        counts.stash.push_back(static_cast<std::int32_t>(random() % largest));
        counts.weight_stash.push_back(static_cast<std::int32_t>(random() % largest));
      }
    }
    compare(peaks, random);
  }
}

TEST_CASE("the largest peak is among them, of every static schedule") {
  std::mt19937 random(7);
  for (const ScheduleKind& kind : schedule_kinds()) {
    if (kind.is_automatic() || kind.rule != RunTimeRule::kNone) continue;
    for (const int p : {1, 2, 3, 4, 7, 12}) {
      for (int v = kind.fewest_chunks; v <= std::max(kind.most_chunks, 3); ++v) {
        const ScheduleShape shape{p, v, 2 * p};
        if (!why_no_schedule(kind, shape).empty()) continue;
        CAPTURE(kind.name);
        CAPTURE(p);
        for (const RankLiveness& rank : liveness(make_schedule(kind.name, shape))) {
          compare(rank.peaks, random);
        }
      }
    }
  }
}

TEST_CASE("counts are the same without the lists between") {
  int left_out = 0;
  for (const ScheduleKind& kind : schedule_kinds()) {
    if (kind.is_automatic() || kind.rule != RunTimeRule::kNone) continue;
    for (const int p : {1, 2, 3, 4, 7, 12}) {
      for (int v = kind.fewest_chunks; v <= std::max(kind.most_chunks, 5); ++v) {
        const ScheduleShape shape{p, v, 2 * p};
        if (!why_no_schedule(kind, shape).empty()) continue;
        CAPTURE(kind.name);
        CAPTURE(p);
        CAPTURE(v);
        const Schedule schedule = make_schedule(kind.name, shape);
        const auto all = liveness(schedule);
        const HeldCounts counts = exactly_held(schedule, waiting_receives(schedule));
        for (std::size_t r = 0; r < all.size(); ++r) {
          left_out += static_cast<int>(all[r].peaks.size() - counts.peaks(r));
        }
        REQUIRE(counts == HeldCounts(all));
      }
    }
  }
  CHECK(left_out > 100);
}

// 53 on average on 50 ranks, and nearly all of them on a few lines.
TEST_CASE("a rank's peaks are few, however many ranks") {
  for (const char* name : {"zb-v", "v-half", "v-min", "dualpipe-v", "interleaved-zb"}) {
    for (const RankLiveness& rank : liveness(make_schedule(name, {50, 2, 100}))) {
      CHECK(fullest_peaks(rank.peaks).size() <= 12);
    }
  }
}

}  // namespace
}  // namespace penstock
