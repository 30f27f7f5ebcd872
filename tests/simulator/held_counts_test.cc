#include "simulator/held_counts.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

#include "simulator/schedules/schedules.h"
#include "tests/simulator/pipelines.h"

namespace penstock {
namespace {

using testing::lowered;

// Rank 1 of P = 2, V = 2, M = 4 in groups of 2: as in liveness_test.cc, rank 0's peaks are 4 1 and
// 3 2; stage 0 by itself holds 3 or 4 there, stage 2 holds 1 or 2.
TEST_CASE("flat counts say what liveness says, by rank and by stage") {
  const auto ranks = liveness(lowered("interleaved", {2, 2, 4, 0}));
  const HeldCounts counts(ranks);
  REQUIRE(counts.ranks() == 2);
  REQUIRE(counts.stages() == 4);
  CHECK(std::ranges::equal(counts.stages_of(0), std::vector{0, 2}));
  REQUIRE(counts.peaks(0) == 2);
  CHECK(std::ranges::equal(counts.peak(0, 0), std::vector<Held>{{4, 0}, {1, 0}}));
  CHECK(std::ranges::equal(counts.peak(0, 1), std::vector<Held>{{3, 0}, {2, 0}}));
  CHECK(std::ranges::equal(counts.peaks_of_stage(0), std::vector<Held>{{3, 0}, {4, 0}}));
  CHECK(std::ranges::equal(counts.peaks_of_stage(2), std::vector<Held>{{1, 0}, {2, 0}}));
  CHECK(counts.transfers(0).activation_sends == 1);
  CHECK(counts.transfers(0).gradient_sends == 0);
  CHECK(counts.transfers(0).activation_receives == 0);
  CHECK(counts.transfers(0).gradient_receives == ranks[0].gradient_receives[0]);
  CHECK(counts.transfers(2).activation_receives == ranks[0].activation_receives[1]);
}

bool covers(const LiveCounts& peak, std::span<const Held> held) {
  for (std::size_t c = 0; c < held.size(); ++c) {
    if (peak.stash[c] < held[c].stash || peak.weight_stash[c] < held[c].weight_stash) return false;
  }
  return true;
}

std::int64_t sum_of(std::span<const Held> held) {
  return std::accumulate(
      held.begin(), held.end(), std::int64_t{0},
      [](std::int64_t sum, const Held& of) { return sum + of.stash + of.weight_stash; });
}

void compare_with_exact(const HeldCounts& least, const std::vector<RankLiveness>& live) {
  const HeldCounts exact(live);
  REQUIRE(least.ranks() == exact.ranks());
  for (std::size_t r = 0; r < exact.ranks(); ++r) {
    CHECK(std::ranges::equal(least.stages_of(r), exact.stages_of(r)));
    CHECK(std::ranges::equal(least.overlaps(r), exact.overlaps(r)));
    std::int64_t most = 0;
    for (std::size_t i = 0; i < least.peaks(r); ++i) {
      bool covered = false;
      for (const LiveCounts& peak : live[r].peaks) {
        covered = covered || covers(peak, least.peak(r, i));
      }
      CHECK(covered);
      most = std::max(most, sum_of(least.peak(r, i)));
    }
    CHECK(most == live[r].peak_chunks);
  }
  for (int s = 0; s < static_cast<int>(exact.stages()); ++s) {
    HeldCounts::Transfers once = exact.transfers(s);
    once.activation_receives = std::min(1, once.activation_receives);
    once.gradient_receives = std::min(1, once.gradient_receives);
    CHECK(least.transfers(s) == once);
    CHECK(least.most_stash(s) == exact.most_stash(s));
  }
}

TEST_CASE("the lower bound never counts more, and as much at the fullest position") {
  for (const ScheduleKind& kind : schedule_kinds()) {
    if (kind.is_automatic() || kind.rule != RunTimeRule::kNone) continue;
    for (int p = 1; p <= 6; ++p) {
      for (int v = kind.fewest_chunks; v <= std::max(kind.most_chunks, 3); ++v) {
        for (int m = 1; m <= 4 * p; ++m) {
          const ScheduleShape shape{p, v, m, 0};
          if (!why_no_schedule(kind, shape).empty()) continue;
          CAPTURE(kind.name);
          CAPTURE(p);
          CAPTURE(v);
          CAPTURE(m);
          const Schedule schedule = make_schedule(kind.name, shape);
          compare_with_exact(least_held(schedule), liveness(schedule));
        }
      }
    }
  }
}

}  // namespace
}  // namespace penstock
