#include "search/stash_bound.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "tests/search/models.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::Random;

// F, B and the bytes of every section, with a recompute of so long that leaves so many of them.
struct Given {
  std::int64_t forward = 0, backward = 0, stash = 0, again = 0, left = 0;
};

SectionSums sums_of_given(const std::vector<Given>& sections, bool recomputes) {
  SectionSums sums;
  for (auto* list :
       {&sums.forward, &sums.fused_backward, &sums.recompute, &sums.work, &sums.stash}) {
    list->push_back(0);
  }
  const auto append = [](std::vector<std::int64_t>& list, std::int64_t value) {
    list.push_back(list.back() + value);
  };
  for (const Given& one : sections) {
    const std::int64_t again = recomputes ? one.again : 0;
    append(sums.forward, one.forward);
    append(sums.fused_backward, one.backward);
    append(sums.recompute, again);
    append(sums.work, one.forward + one.backward + again);
    append(sums.stash, recomputes ? one.left : one.stash);
  }
  return sums;
}

// 1F1B holds P - r micro-batches on rank r, each until its backward is done: P equal stages of F =
// 1 and B = 2 take 3 M + 3 (P - 1), and what is held takes 3 M of it (less the margin of rounding).
TEST_CASE("what 1F1B holds leaves only its fill and drain open") {
  const SectionSums sums = sums_of_given({4, Given{1, 2, 6, 1, 0}}, false);
  const StashRoom room{1000, 4, Bytes{6 * (4 + 3 + 2 + 1) / 4}};
  CHECK(stash_bound(sums, BackwardKind::kFused, room) == Duration{2'999});
}

// Two sections of F = 1 and B = 2, 6 bytes each, one rank: held for 6 and 3, so 54 bytes times ns.
// Room for 4 bytes: without recompute 54 / 4 = 13.5 per micro-batch. A recompute of 1 leaves none:
// of the first section 36 are saved for 1. With a part x of it, 54 - 36 x = 4 T and T = 6 + x:
// x = 0.75 and T = 6.75.
TEST_CASE("recompute is weighed against what it lets a rank hold") {
  const std::vector<Given> sections(2, Given{1, 2, 6, 1, 0});
  const SectionSums kept = sums_of_given(sections, false), again = sums_of_given(sections, true);
  const StashRoom room{1000, 1, Bytes{4}};
  CHECK(stash_bound(kept, BackwardKind::kFused, room) == Duration{13'499});
  CHECK(StashCurve(kept, again, BackwardKind::kFused).least(room) == Duration{6'749});
}

// F = 1, B = 2 and 6 bytes, or F = 2, B = 2 and 4 bytes: at least 3 and 4, held for 6 and 3 on one
// rank with room for 4 bytes: 36 / 4 = 9 per micro-batch, and with the first mode alone 13.5.
TEST_CASE("where two modes are mixed, the shorter times and the smaller stash are certain") {
  const SectionSums a = sums_of_given(std::vector<Given>(2, Given{1, 2, 6, 0, 6}), false);
  const SectionSums b = sums_of_given(std::vector<Given>(2, Given{2, 2, 4, 0, 4}), false);
  const StashRoom room{1000, 1, Bytes{4}};
  CHECK(stash_bound_of_either(a, b, BackwardKind::kFused, room) == Duration{8'999});
  CHECK(stash_bound_of_either(b, a, BackwardKind::kFused, room) == Duration{8'999});
  CHECK(stash_bound_of_either(a, a, BackwardKind::kFused, room) == Duration{13'499});
}

// Against every choice of sections, each of which is slower than the parts that the bound allows.
TEST_CASE("no choice of sections that recompute is faster than the bound") {
  Random random(71);
  int equal = 0;
  for (int i = 0; i < testing::draws(2'000); ++i) {
    CAPTURE(i);
    std::vector<Given> sections;
    for (int s = random.between(1, 6); s > 0; --s) {
      const int stash = random.between(1, 20);
      sections.push_back({random.between(1, 5), random.between(1, 9), stash, random.between(0, 5),
                          random.between(0, stash)});
    }
    const SectionSums kept = sums_of_given(sections, false), again = sums_of_given(sections, true);
    const StashRoom room{random.between(100, 1000), random.between(1, 4),
                         Bytes{random.between(1, 30)}};
    const Duration bound = StashCurve(kept, again, BackwardKind::kFused).least(room);
    Duration fastest = Duration::max();
    for (unsigned chosen = 0; chosen < 1U << sections.size(); ++chosen) {
      double held = 0.0, work = 0.0, behind = 0.0;
      for (std::size_t s = sections.size(); s-- > 0;) {
        const bool recomputes = (chosen >> s & 1U) > 0;
        const Given& one = sections[s];
        behind += static_cast<double>(one.forward + one.backward);
        work += static_cast<double>(one.forward + one.backward + (recomputes ? one.again : 0));
        held += behind * static_cast<double>(recomputes ? one.left : one.stash);
      }
      const double needed = std::max(work, held / static_cast<double>(room.each.count));
      const double step = static_cast<double>(room.micro_batches) * needed / room.ranks;
      fastest = std::min(fastest, Duration{static_cast<std::int64_t>(step)});
    }
    CHECK(bound <= fastest);
    if (fastest - bound <= Duration{1}) ++equal;
  }
  CHECK(equal > testing::least(200));
}

}  // namespace
}  // namespace penstock
