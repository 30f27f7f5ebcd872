// RecomputeAsNeeded with one stage per rank: cuts whose slowest stage, its recompute included, is
// fastest. A greedy pass gives every stage as much as it can take within a bottleneck, by doubling
// steps and bisection; the bottleneck is bisected over such passes, and what a failed pass says
// that a stage would need next is the next one that is worth a try. Exact where a stage that grows,
// at either end, gets no faster: then what s stages can reach is an interval.
#include <algorithm>
#include <limits>

#include "search/prefix_part.h"
#include "search/recompute_as_needed.h"

namespace penstock {
namespace {

constexpr std::int64_t kInfinite = std::numeric_limits<std::int64_t>::max();

std::size_t index(int i) { return static_cast<std::size_t>(i); }

}  // namespace

// Memory shrinks with every section that recomputes but, for what it works in, the first.
std::optional<int> RecomputeAsNeeded::fewest(int stage, int first, int end) const {
  const SectionSums& kept = sums_.kept[stage];
  const SectionSums& again = sums_.recomputed[stage];
  const auto peaks = held_.peaks_of_stage(stage);
  const std::int64_t room = (memory_.capacity_of(stage) - memory_.reserve_of(stage) -
                             memory_.for_the_step(stage, first, end))
                                .count;
  const auto fits = [&](int count) {
    const int middle = first + count;
    const std::int64_t stash = part(again.stash, first, middle) + part(kept.stash, middle, end);
    const std::int64_t weight_stash =
        part(again.weight_stash, first, middle) + part(kept.weight_stash, middle, end);
    std::int64_t most = 0;
    for (const Held& held : peaks) {
      most = std::max(most, held.stash * stash + held.weight_stash * weight_stash);
    }
    return most <= room && most + working_of(stage, {first, middle, end}) <= room;
  };
  if (fits(0)) return 0;
  if (!fits(end - first)) return std::nullopt;
  int low = 0;
  int high = end - first;
  while (low + 1 < high) {
    const int middle = low + (high - low) / 2;
    (fits(middle) ? high : low) = middle;
  }
  return high;
}

std::int64_t RecomputeAsNeeded::time(int stage, int first, int end) const {
  const auto count = fewest(stage, first, end);
  if (!count) return kInfinite;
  return part(sums_.recomputed[stage].work_of(backward_), first, first + *count) +
         part(sums_.kept[stage].work_of(backward_), first + *count, end);
}

// How far one stage gets from where it begins.
struct RecomputeAsNeeded::Reach {
  int end = 0;                              // where it begins when it takes not even one section
  std::int64_t time = kInfinite;            // with these sections
  std::optional<std::int64_t> of_one_more;  // with the next one; nothing when it was not asked for
};

// The largest end <= most within the bottleneck. Mostly it is not far below what the stage could
// reach if memory were no object.
RecomputeAsNeeded::Reach RecomputeAsNeeded::reach(int stage, int first, int most,
                                                  std::int64_t bottleneck) const {
  const std::vector<std::int64_t>& kept = sums_.kept[stage].work_of(backward_);
  if (bottleneck != kInfinite) {
    const auto from = kept.begin() + first;
    most = static_cast<int>(std::upper_bound(from, kept.begin() + most + 1, *from + bottleneck) -
                            kept.begin() - 1);
  }
  Reach reach{most, kInfinite, std::nullopt};
  int beyond = most + 1;
  const auto can = [&](int end) {
    const std::int64_t taken = time(stage, first, end);
    const bool within = taken <= bottleneck && taken != kInfinite;
    (within ? reach.end : beyond) = end;
    if (within) {
      reach.time = taken;
    } else {
      reach.of_one_more = taken;
    }
    return within;
  };
  for (int step = 1; reach.end > first && !can(reach.end); step *= 2) {
    reach.end = std::max(first, reach.end - step);
  }
  while (reach.end + 1 < beyond) can(reach.end + (beyond - reach.end) / 2);
  return reach;
}

struct RecomputeAsNeeded::Pass {
  bool feasible = false;
  std::int64_t slowest = 0;           // of the stages as placed
  std::int64_t next_try = kInfinite;  // smallest bottleneck at which a stage could take more
};

RecomputeAsNeeded::Pass RecomputeAsNeeded::run(std::int64_t bottleneck) const {
  Pass pass;
  const int sections = memory_.sections();
  int at = 0;
  for (int stage = 0; stage < plan_.pipeline; ++stage) {
    const int most = sections - (plan_.pipeline - stage - 1);
    const Reach reached = reach(stage, at, most, bottleneck);
    const int end = reached.end;
    if (end < most) {
      const std::int64_t more =
          reached.of_one_more ? *reached.of_one_more : time(stage, at, end + 1);
      pass.next_try = std::min(pass.next_try, more);
    }
    if (end == at) return pass;
    pass.slowest = std::max(pass.slowest, reached.time);
    at = end;
  }
  pass.feasible = at == sections;
  return pass;
}

std::optional<std::vector<int>> RecomputeAsNeeded::balanced_cuts(
    const std::vector<int>& kept) const {
  if (memory_.sections() < plan_.pipeline) return std::nullopt;
  const Pass any = run(kInfinite);
  if (!any.feasible) return std::nullopt;
  std::int64_t low = 0;
  for (int stage = 0; stage < plan_.pipeline; ++stage) {
    low = std::max(low, part(sums_.kept[stage].work_of(backward_), kept[index(stage)],
                             kept[index(stage) + 1]));
  }
  std::int64_t high = any.slowest;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    const Pass pass = run(middle);
    if (pass.feasible) {
      high = pass.slowest;
    } else {
      if (pass.next_try == kInfinite) break;
      low = std::max(pass.next_try, middle + 1);
    }
  }
  return earliest_cuts(high);
}

RecomputeAsNeeded::Within RecomputeAsNeeded::balanced_within(Duration slowest) const {
  if (memory_.sections() < plan_.pipeline || !run(kInfinite).feasible) return Within::kNoneFit;
  return run(slowest.count()).feasible ? Within::kYes : Within::kNo;
}

// Within the bottleneck: the first ranks hold most micro-batches, so they get the fewest sections.
std::vector<int> RecomputeAsNeeded::earliest_cuts(std::int64_t bottleneck) const {
  std::vector<int> cuts(index(plan_.pipeline) + 1, 0);
  cuts.back() = memory_.sections();
  for (int stage = plan_.pipeline - 1; stage > 0; --stage) {
    const int end = cuts[index(stage) + 1];
    int low = stage;
    int high = end - 1;
    while (low < high) {
      const int middle = low + (high - low) / 2;
      const bool enough = time(stage, middle, end) <= bottleneck;
      (enough ? high : low) = enough ? middle : middle + 1;
    }
    cuts[index(stage)] = high;
  }
  return cuts;
}

}  // namespace penstock
