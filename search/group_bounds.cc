// Lower bounds on the step of all candidates of a group, from the cheapest to the dearest: the mean
// of all work over the ranks, one micro-batch's whole way there and back, what all ranks together
// must hold and for how long, fill and drain around whole sections, then around a balanced
// bottleneck. Each holds for any cuts, or for the cuts that are handed in; each is worked out once
// per kind of backward. Varuna's last rank recomputes nothing, so its plans have bounds of their
// own.
#include "search/group_bounds.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "search/group_search.h"
#include "search/plan_program.h"
#include "search/stash_bound.h"

namespace penstock {
namespace {

// A rank r with work w_r per micro-batch starts after share * (w_0 + .. + w_(r-1)) and then works
// M w_r, so T >= share * x_r + M w_r with x_r the work before it. All ranks at equality:
// T - share * x_(r+1) = (T - share * x_r) (1 - share / M), and x_P = total gives the smallest T.
Duration fill_bound(std::int64_t total, double share, std::int64_t micro_batches, int ranks) {
  if (share <= 0.0) return Duration{};
  double left = 1.0;
  for (int r = 0; r < ranks; ++r) left *= 1.0 - share / static_cast<double>(micro_batches);
  constexpr double kRounding = 1.0 - 1e-9;
  return Duration{
      static_cast<std::int64_t>(kRounding * share * static_cast<double>(total) / (1.0 - left))};
}

BackwardKind backward_of(const Plan& plan) { return find_schedule(plan.schedule)->backward; }

}  // namespace

Duration GroupBounds::before_cuts(const Plan& plan) {
  return std::max(mean_bound(plan), memory_bound(*find_schedule(plan.schedule), plan));
}

// What all ranks together must hold, and for how long, whatever the cuts.
Duration GroupBounds::memory_bound(const ScheduleKind& kind, const Plan& plan) {
  StashRoom room;
  room.micro_batches = first_load(plan).full;
  if (room.micro_batches == 0 || plan.is_mixed()) return {};
  room.ranks = plan.pipeline;
  // A second copy of the weights holds more, but divides the optimizer's state further: it is left
  // out.
  room.each = prices_.memory()[0] - group_.least_memory;
  if (room.each.count <= 0) return {};
  const SectionSums& sums = prices_.sums()[0];
  if (kind.recomputes) {  // Varuna: on its last rank as in mode "none"
    const GroupPrices& kept = kept_();
    if (!kept.why_not().empty()) return {};
    return stash_bound_of_either(sums, kept.sums()[0], kind.backward, room);
  }
  const bool as_needed = division_.serves(kind);
  auto& known = memory_bounds_[{kind.backward, plan.copies(), as_needed}];
  if (known) return *known;
  if (as_needed) known = division_.least(sums, kind.backward, room);
  if (!known) known = stash_bound(sums, kind.backward, room);
  return *known;
}

// Some rank does the mean of all work, with a short last micro-batch; and one micro-batch goes
// all the way there and back. Whatever the cuts.
Duration GroupBounds::mean_bound(const Plan& plan) {
  const ScheduleKind& kind = *find_schedule(plan.schedule);
  if (kind.recomputes) {
    return once(means_but_on_last_, kind.backward, [&] { return least_but_on_last_rank(plan); });
  }
  return once(means_, kind.backward, [&] { return mean_of_all_work(plan); });
}

Duration GroupBounds::mean_of_all_work(const Plan& plan) const {
  const ReplicaLoad load = first_load(plan);
  const std::int64_t full = load.full;
  std::int64_t work = full * prices_.least_work(backward_of(plan));
  if (load.rest > 0) {
    const std::vector<int>& samples = prices_.samples();
    const auto shape = std::find(samples.begin(), samples.end(), load.rest) - samples.begin();
    work += prices_.least_work(backward_of(plan), static_cast<std::size_t>(shape));
  }
  const std::int64_t trip = full == 0 ? 0 : prices_.least_trip(backward_of(plan));
  return std::max({group_.bound, Duration{work / plan.pipeline}, Duration{trip}});
}

// Varuna's last rank recomputes nothing (V = 1): wherever the last cut lies, the others do the
// mean of what is before it, or it does what is behind.
Duration GroupBounds::least_but_on_last_rank(const Plan& plan) const {
  if (plan.is_mixed() || plan.pipeline < 2) return group_.bound;
  const ReplicaLoad load = first_load(plan);
  const std::int64_t full = load.full;
  const SectionSums* shorter = prices_.shape_of(load.rest);
  const SectionSums& sums = prices_.sums()[0];
  const GroupPrices& kept = kept_();
  if (!kept.why_not().empty()) return group_.bound;
  const SectionSums& last = kept.sums()[0];
  const SectionSums* shorter_last = kept.shape_of(load.rest);
  const auto all = static_cast<std::size_t>(sums.sections());
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::size_t cut = 1; cut < all; ++cut) {
    const std::int64_t before =
        full * sums.work[cut] + (shorter == nullptr ? 0 : shorter->work[cut]);
    const std::int64_t behind =
        full * (last.work[all] - last.work[cut]) +
        (shorter_last == nullptr ? 0 : shorter_last->work[all] - shorter_last->work[cut]);
    least = std::min(least, std::max(before / (plan.pipeline - 1), behind));
  }
  return std::max(group_.bound, Duration{least});
}

Duration GroupBounds::with_fill(const Plan& plan) {
  const ScheduleKind& kind = *find_schedule(plan.schedule);
  const bool barrier = executor_.optimizer == OptimizerGate::kGlobalBarrier;
  if (kind.recomputes || !barrier || plan.copies() > 1) return {};
  const std::int64_t full = first_load(plan).full;
  if (full == 0) return {};
  return once(fills_, kind.backward,
              [&] { return plan.is_mixed() ? mixed_with_fill(plan) : mean_with_fill(plan, full); });
}

// What no cuts with one stage per rank can beat: the balanced bottleneck, and the fill and drain
// around it.
Duration GroupBounds::by_balanced_cuts(const Plan& plan, const std::vector<int>& balanced) {
  const ScheduleKind& kind = *find_schedule(plan.schedule);
  if (kind.recomputes) return group_.bound;  // not on the last rank
  return once(balanced_, kind.backward, [&] { return slowest_with_fill(plan, balanced); });
}

Duration GroupBounds::slowest_with_fill(const Plan& plan, const std::vector<int>& balanced) const {
  const ReplicaLoad load = first_load(plan);
  const std::int64_t full = load.full;
  const bool barrier = executor_.optimizer == OptimizerGate::kGlobalBarrier;
  std::int64_t longest = 0;
  for (std::size_t s = 0; s + 1 < balanced.size(); ++s) {
    const auto& work = prices_.sums()[static_cast<int>(s)].work_of(backward_of(plan));
    longest = std::max(longest, work[static_cast<std::size_t>(balanced[s + 1])] -
                                    work[static_cast<std::size_t>(balanced[s])]);
  }
  if (!barrier || full == 0) return Duration{longest * full};
  // With fused backward all that lies before a rank counts, with split backward or a short last
  // micro-batch only its forwards.
  const bool whole = backward_of(plan) == BackwardKind::kFused && load.rest == 0;
  const double share = whole ? 1.0 : prices_.least_forward_share();
  return std::max(Duration{longest * full},
                  fill_bound(prices_.least_work(backward_of(plan)), share, full, plan.pipeline));
}

// Micro-batches travel all the way and back, whatever the cuts, no more of them at once than the
// first stage holds.
Duration GroupBounds::by_round_trips(const Plan& plan, const HeldCounts& held) const {
  const std::int64_t full = first_load(plan).full;
  const bool barrier = executor_.optimizer == OptimizerGate::kGlobalBarrier;
  if (!barrier || full == 0 || plan.copies() > 1) return {};
  const std::int64_t in_flight = std::max(1, held.most_stash(0));
  return Duration{((full - 1) / in_flight + 1) * prices_.least_trip(backward_of(plan))};
}

// The mean over the ranks of fill, work and (of fused backwards) drain. The stages before rank
// r's first hold at least the first r sections, whatever the cuts.
Duration GroupBounds::mean_with_fill(const Plan& plan, std::int64_t full) const {
  const SectionSums& sums = prices_.sums()[0];
  const bool whole = backward_of(plan) == BackwardKind::kFused && first_load(plan).rest == 0;
  std::int64_t all = full * sums.work_of(backward_of(plan)).back();
  for (std::size_t r = 0; r < static_cast<std::size_t>(plan.pipeline); ++r) {
    all += whole ? sums.work[r] : sums.forward[r];
  }
  return with_whole_sections({&sums}, {{group_.key, plan.pipeline}}, plan,
                             whole ? sums.work : sums.forward, all / plan.pipeline);
}

Duration GroupBounds::mixed_with_fill(const Plan& plan) const {
  const BackwardKind backward = backward_of(plan);
  const ReplicaLoad load = first_load(plan);
  const std::vector<const SectionSums*> types = prices_.types();
  const auto fill =
      shared_.mixed_fills.get({types, backward}, [&] { return MixedFill(types, backward); });
  const bool whole = backward == BackwardKind::kFused && load.rest == 0;
  return with_whole_sections(types, group_.mixed, plan, fill->waits(whole),
                             fill->least(group_.mixed, load.full, whole));
}

// `known`: the fill without them.
Duration GroupBounds::with_whole_sections(const std::vector<const SectionSums*>& types,
                                          const std::vector<RankRun>& runs, const Plan& plan,
                                          const std::vector<std::int64_t>& waits,
                                          std::int64_t known) const {
  const BackwardKind backward = backward_of(plan);
  const auto sections =
      shared_.whole_sections.get({types, backward}, [&] { return WholeSections(types, backward); });
  return Duration{sections->least(runs, first_load(plan).full, waits, known)};
}

}  // namespace penstock
