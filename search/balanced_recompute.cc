// RecomputeAsNeeded with one stage per rank: cuts whose slowest stage, its recompute included, is
// fastest. A greedy pass gives every stage as much as it can take within a bottleneck, by doubling
// steps and bisection; the bottleneck is bisected over such passes, and what a failed pass says
// that a stage would need next is the next one that is worth a try. Exact where a stage that grows,
// at either end, gets no faster: then what s stages can reach is an interval.
#include <algorithm>
#include <limits>
#include <span>

#include "search/prefix_part.h"
#include "search/recompute_as_needed.h"

namespace penstock {
namespace {

constexpr std::int64_t kInfinite = std::numeric_limits<std::int64_t>::max();

std::size_t index(int i) { return static_cast<std::size_t>(i); }

}  // namespace

// What a stage with sections [first, end) has for its activations, and whether it suffices when so
// many of them, the first ones, recompute.
class RecomputeAsNeeded::StageRoom {
 public:
  StageRoom(const RecomputeAsNeeded& of, int stage, int first, int end)
      : of_(of),
        kept_(of.sums_.kept[stage]),
        again_(of.sums_.recomputed[stage]),
        peaks_(of.held_.peaks_of_stage(stage)),
        room_((of.memory_.capacity_of(stage) - of.memory_.reserve_of(stage) -
               of.memory_.for_the_step(stage, first, end))
                  .count),
        stage_(stage),
        first_(first),
        end_(end) {}

  [[nodiscard]] bool suffices(int count) const {
    const int middle = first_ + count;
    const std::int64_t stash = part(again_.stash, first_, middle) + part(kept_.stash, middle, end_);
    const std::int64_t weight_stash =
        part(again_.weight_stash, first_, middle) + part(kept_.weight_stash, middle, end_);
    std::int64_t most = 0;
    for (const Held& held : peaks_) {
      most = std::max(most, held.stash * stash + held.weight_stash * weight_stash);
    }
    return most <= room_ && most + of_.working_of(stage_, {first_, middle, end_}) <= room_;
  }
  [[nodiscard]] bool suffices_somehow() const { return suffices(0) || suffices(end_ - first_); }

 private:
  const RecomputeAsNeeded& of_;
  const SectionSums& kept_;
  const SectionSums& again_;
  std::span<const Held> peaks_;
  std::int64_t room_;
  int stage_, first_, end_;
};

// Memory shrinks with every section that recomputes but, for what it works in, the first.
std::optional<int> RecomputeAsNeeded::fewest(int stage, int first, int end) const {
  const StageRoom room(*this, stage, first, end);
  if (room.suffices(0)) return 0;
  if (!room.suffices(end - first)) return std::nullopt;
  int low = 0;
  int high = end - first;
  while (low + 1 < high) {
    const int middle = low + (high - low) / 2;
    (room.suffices(middle) ? high : low) = middle;
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

// reach() without a bottleneck: none is timed. `guess`: where it may end. Where a stage that grows
// takes no less, it does not matter where the search begins.
int RecomputeAsNeeded::furthest(int stage, int first, int most, int guess) const {
  int reached = most, beyond = most + 1;
  const auto can = [&](int end) {
    const bool fits = StageRoom(*this, stage, first, end).suffices_somehow();
    (fits ? reached : beyond) = end;
    return fits;
  };
  if (memory_.is_monotone() && guess > first && guess < most && can(guess)) {
    for (int step = 1; reached < most && can(std::min(most, guess + step)); step *= 2) {
    }
  } else {
    reached = std::min(most, beyond - 1);
    for (int step = 1; reached > first && !can(reached); step *= 2) {
      reached = std::max(first, reached - step);
    }
  }
  while (reached + 1 < beyond) can(reached + (beyond - reached) / 2);
  return reached;
}

// As run() without a bottleneck says.
bool RecomputeAsNeeded::fits_with_some_cuts() const {
  const int sections = memory_.sections();
  int at = 0, length = 0;  // of the stage before
  for (int stage = 0; stage < plan_.pipeline; ++stage) {
    const int end = furthest(stage, at, sections - (plan_.pipeline - stage - 1), at + length);
    if (end == at) return false;
    length = end - at;
    at = end;
  }
  return at == sections;
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
  if (memory_.sections() < plan_.pipeline || !fits_with_some_cuts()) return Within::kNoneFit;
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
