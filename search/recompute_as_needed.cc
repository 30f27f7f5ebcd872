// How many sections of every stage recompute, bundle by bundle of ranks that share stages: all
// stages keep everything at first; where that does not fit a stage by itself gets the fewest
// sections that do, and several stages recompute everywhere and then keep what saves most time per
// byte (keep_by_gain.cc). What a rank holds is summed from prefix sums over the sections, one part
// that recomputes and one that does not per stage. Invariant: numbers that are returned fit on
// every rank. Cuts that are chosen together with the numbers are in balanced_recompute.cc.
#include "search/recompute_as_needed.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "search/prefix_part.h"

namespace penstock {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

}  // namespace

bool can_divide_recompute(const ScheduleKind& kind) {
  return !kind.recomputes && !kind.is_costly && !kind.is_automatic() &&
         kind.rule == RunTimeRule::kNone;
}

RecomputeAsNeeded::RecomputeAsNeeded(const RecomputeSums& sums, const StageMemory& memory,
                                     const HeldCounts& held, const Plan& plan,
                                     BackwardKind backward, RecomputeRule rule)
    : sums_(sums), memory_(memory), held_(held), plan_(plan), backward_(backward), rule_(rule) {
  bundles_.reserve(held.ranks());
  ranks_.reserve(held.ranks());
  if (plan.copies() == 1) {
    bundle_ranks();
  } else {
    bundle_ranks_of_copies();
  }
}

// With one copy no two ranks share a stage.
void RecomputeAsNeeded::bundle_ranks() {
  ranks_.resize(held_.ranks());
  std::iota(ranks_.begin(), ranks_.end(), std::size_t{0});
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    bundles_.push_back({held_.stages_of(rank), {&ranks_[rank], 1}});
  }
}

void RecomputeAsNeeded::bundle_ranks_of_copies() {
  std::map<std::vector<int>, std::vector<std::size_t>> ranks_of;
  for (std::size_t rank = 0; rank < held_.ranks(); ++rank) {
    std::vector<int> stages;
    for (const int stage : held_.stages_of(rank)) stages.push_back(stage % plan_.stages_per_copy());
    std::sort(stages.begin(), stages.end());
    stages.erase(std::unique(stages.begin(), stages.end()), stages.end());
    ranks_of[std::move(stages)].push_back(rank);
  }
  stages_.reserve(held_.stages());  // spans point into it
  for (const auto& [stages, ranks] : ranks_of) {
    const std::size_t first_stage = stages_.size(), first_rank = ranks_.size();
    stages_.insert(stages_.end(), stages.begin(), stages.end());
    ranks_.insert(ranks_.end(), ranks.begin(), ranks.end());
    bundles_.push_back(
        {{&stages_[first_stage], stages.size()}, {&ranks_[first_rank], ranks.size()}});
  }
}

bool RecomputeAsNeeded::is_changed(int section) const {
  const SectionSums& kept = sums_.kept[0];
  const SectionSums& again = sums_.recomputed[0];
  return part(kept.stash, section, section + 1) != part(again.stash, section, section + 1) ||
         part(kept.work, section, section + 1) != part(again.work, section, section + 1);
}

std::int64_t RecomputeAsNeeded::stash_of(int rank, const Run& run, bool of_weights) const {
  const SectionSums& kept = sums_.kept[rank];
  const SectionSums& again = sums_.recomputed[rank];
  if (of_weights) {
    return part(again.weight_stash, run.first, run.middle) +
           part(kept.weight_stash, run.middle, run.end);
  }
  return part(again.stash, run.first, run.middle) + part(kept.stash, run.middle, run.end);
}

std::int64_t RecomputeAsNeeded::working_of(int rank, const Run& run) const {
  std::int64_t most = 0;
  if (run.first < run.middle) {
    most = sums_.recomputed[rank].working_peak_of(run.first, run.middle);
  }
  if (run.middle < run.end) {
    most = std::max(most, sums_.kept[rank].working_peak_of(run.middle, run.end));
  }
  return most;
}

Bytes RecomputeAsNeeded::total(std::size_t rank, const std::vector<int>& cuts,
                               const std::vector<int>& counts) const {
  const auto stages = held_.stages_of(rank);
  const int r = static_cast<int>(rank);
  struct OfStage {
    std::int64_t working, stash, weight_stash;  // of one micro-batch
  };
  constexpr std::size_t kFew = 8;
  std::array<OfStage, kFew> few;
  std::vector<OfStage> many(stages.size() > kFew ? stages.size() : 0);
  const std::span<OfStage> chunks =
      many.empty() ? std::span<OfStage>(few).first(stages.size()) : std::span<OfStage>(many);
  std::int64_t kept = 0;
  std::int64_t working = 0;
  for (std::size_t c = 0; c < stages.size(); ++c) {
    const std::size_t s = index(stages[c] % plan_.stages_per_copy());
    const Run run{cuts[s], cuts[s] + counts[s], cuts[s + 1]};
    chunks[c] = {working_of(r, run), stash_of(r, run, false), stash_of(r, run, true)};
    kept += memory_.for_the_step(stages[c], cuts[s], cuts[s + 1]).count;
    working = std::max(working, chunks[c].working);
  }
  for (const auto& [a, b] : held_.overlaps(rank)) {
    working = std::max(working, chunks[a].working + chunks[b].working);
  }
  std::int64_t peak = 0;
  for (std::size_t i = 0; i < held_.peaks(rank); ++i) {
    const auto held = held_.peak(rank, i);
    std::int64_t sum = 0;
    for (std::size_t c = 0; c < chunks.size(); ++c) {
      sum += held[c].stash * chunks[c].stash + held[c].weight_stash * chunks[c].weight_stash;
    }
    peak = std::max(peak, sum);
  }
  return Bytes{kept + peak + working} + memory_.reserve_of(stages[0]);
}

// What its ranks hold together; nothing when one of them does not fit.
std::optional<std::int64_t> RecomputeAsNeeded::bytes_that_fit(
    const Bundle& bundle, const std::vector<int>& cuts, const std::vector<int>& counts) const {
  std::int64_t sum = 0;
  for (const std::size_t rank : bundle.ranks) {
    const Bytes bytes = total(rank, cuts, counts);
    if (bytes > memory_.capacity()[static_cast<int>(rank)]) return std::nullopt;
    sum += bytes.count;
  }
  return sum;
}

bool RecomputeAsNeeded::fits(const Bundle& bundle, const std::vector<int>& cuts,
                             const std::vector<int>& counts) const {
  return bytes_that_fit(bundle, cuts, counts).has_value();
}

std::optional<std::vector<int>> RecomputeAsNeeded::sections(const std::vector<int>& cuts,
                                                            std::span<const Bytes> kept) const {
  if (rule_ == RecomputeRule::kOneNumber) return one_number(cuts);
  std::vector<int> counts(cuts.size() - 1, 0);
  for (const Bundle& bundle : bundles_) {
    if (!choose_most(bundle, cuts, kept, counts)) return std::nullopt;
  }
  for (const Bundle& bundle : bundles_) {
    if (bundle.stages.size() > 1) keep_by_gain(bundle, cuts, counts);
  }
  round_up(cuts, counts);
  return counts;
}

bool RecomputeAsNeeded::fits_somehow(const std::vector<int>& cuts,
                                     std::span<const Bytes> kept) const {
  if (rule_ == RecomputeRule::kOneNumber) return one_number(cuts).has_value();
  std::vector<int> counts(cuts.size() - 1, 0);
  return std::all_of(bundles_.begin(), bundles_.end(),
                     [&](const Bundle& bundle) { return choose_most(bundle, cuts, kept, counts); });
}

RecomputeAsNeeded::Fullest RecomputeAsNeeded::fullest(const std::vector<int>& cuts,
                                                      const std::vector<int>& counts) const {
  const Saved section = most_of_a_section();
  Fullest fullest;
  for (const std::size_t rank : ranks_) {
    const Bytes now = total(rank, cuts, counts);
    fullest.now = std::max(fullest.now, now);
    if (now <= fullest.with_one_more) continue;
    fullest.with_one_more = std::max(fullest.with_one_more,
                                     now - Bytes{saved_by_one_more(rank, section, cuts, counts)});
  }
  return fullest;
}

RecomputeAsNeeded::Saved RecomputeAsNeeded::most_of_a_section() const {
  const SectionSums& kept = sums_.kept[0];
  const SectionSums& again = sums_.recomputed[0];
  Saved most;
  for (int i = 0; i < kept.sections(); ++i) {
    most.stash = std::max(most.stash, part(kept.stash, i, i + 1) - part(again.stash, i, i + 1));
    most.weight_stash = std::max(
        most.weight_stash, part(kept.weight_stash, i, i + 1) - part(again.weight_stash, i, i + 1));
  }
  return most;
}

// Of the stage where it saves most; with one number for all stages, of each of them. A stage that
// recomputes all of its sections has no more.
std::int64_t RecomputeAsNeeded::saved_by_one_more(std::size_t rank, const Saved& section,
                                                  const std::vector<int>& cuts,
                                                  const std::vector<int>& counts) const {
  const auto stages = held_.stages_of(rank);
  std::int64_t most = 0;
  std::int64_t sum = 0;
  for (std::size_t c = 0; c < stages.size(); ++c) {
    const std::size_t s = index(stages[c] % plan_.stages_per_copy());
    if (counts[s] == cuts[s + 1] - cuts[s]) continue;
    std::int64_t saved = 0;
    for (std::size_t i = 0; i < held_.peaks(rank); ++i) {
      const Held& held = held_.peak(rank, i)[c];
      saved =
          std::max(saved, held.stash * section.stash + held.weight_stash * section.weight_stash);
    }
    most = std::max(most, saved);
    sum += saved;
  }
  return rule_ == RecomputeRule::kOneNumber ? sum : most;
}

// The counts of its stages are zero before: they stay so where that fits. Else the fewest sections
// of one stage, all of several. False when none that was tried fits.
bool RecomputeAsNeeded::choose_most(const Bundle& bundle, const std::vector<int>& cuts,
                                    std::span<const Bytes> kept, std::vector<int>& counts) const {
  // Here every micro-batch counts as full.
  const bool is_known = !kept.empty() && !memory_.has_short_last();
  if (is_known ? fits_as_kept(bundle, kept) : fits(bundle, cuts, counts)) return true;
  if (bundle.stages.size() == 1) return choose_alone(bundle, cuts, counts);
  for (const int stage : bundle.stages) {
    counts[index(stage)] = cuts[index(stage) + 1] - cuts[index(stage)];
  }
  return fits(bundle, cuts, counts);
}

bool RecomputeAsNeeded::fits_as_kept(const Bundle& bundle, std::span<const Bytes> kept) const {
  return std::all_of(bundle.ranks.begin(), bundle.ranks.end(), [&](std::size_t rank) {
    return kept[rank] <= memory_.capacity()[static_cast<int>(rank)];
  });
}

// The fewest sections, of a bundle with one stage.
bool RecomputeAsNeeded::choose_alone(const Bundle& bundle, const std::vector<int>& cuts,
                                     std::vector<int>& counts) const {
  const std::size_t s = index(bundle.stages.front());
  const int all = cuts[s + 1] - cuts[s];
  while (counts[s] < all) {
    ++counts[s];
    if (fits(bundle, cuts, counts)) return true;
  }
  return false;
}

std::optional<std::vector<int>> RecomputeAsNeeded::one_number(const std::vector<int>& cuts) const {
  std::vector<int> last;
  for (int layers = 0;; ++layers) {
    std::vector<int> counts = counts_of_layers(cuts, layers);
    if (counts == last) return std::nullopt;
    const bool fit = std::all_of(bundles_.begin(), bundles_.end(),
                                 [&](const Bundle& bundle) { return fits(bundle, cuts, counts); });
    if (fit) {
      round_up(cuts, counts);
      return counts;
    }
    last = std::move(counts);
  }
}

// Layers are the sections that the mode changes.
std::vector<int> RecomputeAsNeeded::counts_of_layers(const std::vector<int>& cuts,
                                                     int layers) const {
  std::vector<int> counts(cuts.size() - 1, 0);
  for (std::size_t s = 0; s < counts.size(); ++s) {
    int left = layers;
    for (int i = cuts[s]; i < cuts[s + 1] && left > 0; ++i) {
      if (!is_changed(i)) continue;
      counts[s] = i - cuts[s] + 1;
      --left;
    }
  }
  return counts;
}

void RecomputeAsNeeded::round_up(const std::vector<int>& cuts, std::vector<int>& counts) const {
  for (std::size_t s = 0; s < counts.size(); ++s) {
    int end = cuts[s] + counts[s];
    while (counts[s] > 0 && end < cuts[s + 1] && !is_changed(end)) ++end;
    if (end == cuts[s + 1] && counts[s] > 0) counts[s] = end - cuts[s];
  }
}

}  // namespace penstock
