#include "search/recompute_as_needed.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "core/values/recompute_sections.h"
#include "costmodel/plan_sections.h"

namespace penstock {
namespace {

constexpr std::int64_t kInfinite = std::numeric_limits<std::int64_t>::max();

std::int64_t part(const std::vector<std::int64_t>& prefix, int first, int end) {
  return prefix[static_cast<std::size_t>(end)] - prefix[static_cast<std::size_t>(first)];
}

std::size_t index(int i) { return static_cast<std::size_t>(i); }

}  // namespace

bool can_divide_recompute(const ScheduleKind& kind) {
  return !kind.recomputes && !kind.is_costly && !kind.is_automatic() &&
         kind.rule == RunTimeRule::kNone;
}

RaisedSums::RaisedSums(const ModelProfile& profile, const Plan& plan, const RankSums& recomputed,
                       const RankSums& kept)
    : sums_(recomputed) {
  const int ranks = recomputed.is_one_for_all() && kept.is_one_for_all() ? 1 : plan.pipeline;
  std::vector<const SectionSums*> of_rank;
  for (int rank = 0; rank < ranks; ++rank) {
    const SectionSums& own = recomputed[rank];
    if (rank > 0 && &own == &recomputed[rank - 1] && &kept[rank] == &kept[rank - 1]) {
      of_rank.push_back(of_rank.back());
      continue;
    }
    of_rank.push_back(&own);
    if (!is_somewhere_faster(own.table, kept[rank].table)) continue;
    raised_.push_back(std::make_unique<const SectionSums>(
        sum_table(profile, plan.tensor, no_faster_than(own.table, kept[rank].table))));
    of_rank.back() = raised_.back().get();
  }
  if (raised_.empty()) return;
  sums_ = ranks == 1 ? RankSums(*of_rank.front()) : RankSums(std::move(of_rank));
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
  constexpr std::size_t kFew = 8;
  std::array<Run, kFew> few;
  std::vector<Run> many(stages.size() > kFew ? stages.size() : 0);
  const std::span<Run> runs =
      many.empty() ? std::span<Run>(few).first(stages.size()) : std::span<Run>(many);
  std::int64_t kept = 0;
  std::int64_t working = 0;
  for (std::size_t c = 0; c < stages.size(); ++c) {
    const std::size_t s = index(stages[c] % plan_.stages_per_copy());
    runs[c] = {cuts[s], cuts[s] + counts[s], cuts[s + 1]};
    kept += memory_.for_the_step(stages[c], cuts[s], cuts[s + 1]).count;
    working = std::max(working, working_of(r, runs[c]));
  }
  for (const auto& [a, b] : held_.overlaps(rank)) {
    working = std::max(working, working_of(r, runs[a]) + working_of(r, runs[b]));
  }
  std::int64_t peak = 0;
  for (std::size_t i = 0; i < held_.peaks(rank); ++i) {
    const auto held = held_.peak(rank, i);
    std::int64_t sum = 0;
    for (std::size_t c = 0; c < runs.size(); ++c) {
      sum += held[c].stash * stash_of(r, runs[c], false) +
             held[c].weight_stash * stash_of(r, runs[c], true);
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

std::optional<std::vector<int>> RecomputeAsNeeded::sections(const std::vector<int>& cuts) const {
  if (rule_ == RecomputeRule::kOneNumber) return one_number(cuts);
  std::vector<int> counts(cuts.size() - 1, 0);
  for (const Bundle& bundle : bundles_) {
    if (!choose_most(bundle, cuts, counts)) return std::nullopt;
  }
  for (const Bundle& bundle : bundles_) {
    if (bundle.stages.size() > 1) keep_by_gain(bundle, cuts, counts);
  }
  round_up(cuts, counts);
  return counts;
}

bool RecomputeAsNeeded::fits_somehow(const std::vector<int>& cuts) const {
  if (rule_ == RecomputeRule::kOneNumber) return one_number(cuts).has_value();
  std::vector<int> counts(cuts.size() - 1, 0);
  return std::all_of(bundles_.begin(), bundles_.end(),
                     [&](const Bundle& bundle) { return choose_most(bundle, cuts, counts); });
}

Bytes RecomputeAsNeeded::fullest(const std::vector<int>& cuts,
                                 const std::vector<int>& counts) const {
  Bytes fullest;
  for (const std::size_t rank : ranks_) fullest = std::max(fullest, total(rank, cuts, counts));
  return fullest;
}

Bytes RecomputeAsNeeded::most_of_a_section() const {
  std::int64_t most = 0;
  std::int64_t held = 0;
  for (std::size_t s = 0; s < held_.stages(); ++s) {
    held = std::max<std::int64_t>(held, held_.most_stash(static_cast<int>(s)));
  }
  const SectionSums& kept = sums_.kept[0];
  const SectionSums& again = sums_.recomputed[0];
  for (int i = 0; i < kept.sections(); ++i) {
    most = std::max(most, part(kept.stash, i, i + 1) - part(again.stash, i, i + 1));
  }
  return Bytes{held * most};
}

// The counts of its stages are zero before: they stay so where that fits. Else the fewest sections
// of one stage, all of several. False when none that was tried fits.
bool RecomputeAsNeeded::choose_most(const Bundle& bundle, const std::vector<int>& cuts,
                                    std::vector<int>& counts) const {
  if (fits(bundle, cuts, counts)) return true;
  if (bundle.stages.size() == 1) return choose_alone(bundle, cuts, counts);
  for (const int stage : bundle.stages) {
    counts[index(stage)] = cuts[index(stage) + 1] - cuts[index(stage)];
  }
  return fits(bundle, cuts, counts);
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

// What one rank holds, as total(), when one section more of one of its chunks keeps its
// activations: without summing up all of the others again.
class RecomputeAsNeeded::RankBytes {
 public:
  RankBytes(const RecomputeAsNeeded& all, std::size_t rank, const std::vector<int>& cuts,
            const std::vector<int>& counts)
      : all_(all), rank_(rank) {
    const auto stages = all.held_.stages_of(rank);
    fixed_ = all.memory_.reserve_of(stages[0]).count;
    for (const int stage : stages) {
      const std::size_t s = index(stage % all.plan_.stages_per_copy());
      runs_.push_back({cuts[s], cuts[s] + counts[s], cuts[s + 1]});
      working_.push_back(all.working_of(static_cast<int>(rank), runs_.back()));
      fixed_ += all.memory_.for_the_step(stage, cuts[s], cuts[s + 1]).count;
    }
    sums_.resize(all.held_.peaks(rank));
    for (std::size_t c = 0; c < runs_.size(); ++c) add(c, stash(runs_[c]));
  }

  // The chunk has a section that recomputes.
  [[nodiscard]] std::int64_t with_one_more(std::size_t chunk) {
    const Run run = shorter(runs_[chunk]);
    const Held change = change_of(chunk, run);
    std::int64_t peak = 0;
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      peak = std::max(peak, sums_[i] + bytes_of(all_.held_.peak(rank_, i)[chunk], change));
    }
    const std::int64_t before =
        std::exchange(working_[chunk], all_.working_of(static_cast<int>(rank_), run));
    const std::int64_t bytes = fixed_ + peak + working();
    working_[chunk] = before;
    return bytes;
  }
  void keep_one_more(std::size_t chunk) {
    const Run run = shorter(runs_[chunk]);
    add(chunk, change_of(chunk, run));
    runs_[chunk] = run;
    working_[chunk] = all_.working_of(static_cast<int>(rank_), run);
  }
  [[nodiscard]] const Run& run(std::size_t chunk) const { return runs_[chunk]; }

 private:
  // Of one micro-batch.
  struct Held {
    std::int64_t stash = 0, weight_stash = 0;
  };
  static Run shorter(const Run& run) { return {run.first, run.middle - 1, run.end}; }
  static std::int64_t bytes_of(const penstock::Held& counts, const Held& each) {
    return counts.stash * each.stash + counts.weight_stash * each.weight_stash;
  }
  [[nodiscard]] Held stash(const Run& run) const {
    const int rank = static_cast<int>(rank_);
    return {all_.stash_of(rank, run, false), all_.stash_of(rank, run, true)};
  }
  [[nodiscard]] Held change_of(std::size_t chunk, const Run& run) const {
    const Held then = stash(run), now = stash(runs_[chunk]);
    return {then.stash - now.stash, then.weight_stash - now.weight_stash};
  }
  void add(std::size_t chunk, const Held& change) {
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      sums_[i] += bytes_of(all_.held_.peak(rank_, i)[chunk], change);
    }
  }
  [[nodiscard]] std::int64_t working() const {
    std::int64_t most = *std::max_element(working_.begin(), working_.end());
    for (const auto& [a, b] : all_.held_.overlaps(rank_)) {
      most = std::max(most, working_[a] + working_[b]);
    }
    return most;
  }

  const RecomputeAsNeeded& all_;
  std::size_t rank_;
  std::vector<Run> runs_;              // by chunk
  std::vector<std::int64_t> working_;  // likewise
  std::vector<std::int64_t> sums_;     // by peak: activations
  std::int64_t fixed_ = 0;             // all else
};

// keep_by_gain() of a bundle of one rank.
void RecomputeAsNeeded::keep_by_gain_alone(std::size_t rank, const std::vector<int>& cuts,
                                           std::vector<int>& counts) const {
  const auto stages = held_.stages_of(rank);
  const int r = static_cast<int>(rank);
  const std::vector<std::int64_t>& kept = sums_.kept[r].work_of(backward_);
  const std::vector<std::int64_t>& again = sums_.recomputed[r].work_of(backward_);
  const std::int64_t capacity = memory_.capacity()[r].count;
  RankBytes bytes(*this, rank, cuts, counts);
  std::int64_t now = total(rank, cuts, counts).count;
  while (true) {
    std::size_t best = stages.size();
    double best_gain = 0.0;
    std::int64_t best_bytes = 0;
    for (std::size_t c = 0; c < stages.size(); ++c) {
      if (bytes.run(c).middle == bytes.run(c).first) continue;
      const std::int64_t then = bytes.with_one_more(c);
      if (then > capacity) continue;
      const int section = bytes.run(c).middle - 1;
      const auto saved =
          static_cast<double>(part(again, section, section + 1) - part(kept, section, section + 1));
      const double gain =
          saved / (static_cast<double>(std::max<std::int64_t>(then - now, 0)) + 1.0);
      if (best < stages.size() && gain <= best_gain) continue;
      best = c;
      best_gain = gain;
      best_bytes = then;
    }
    if (best == stages.size()) return;
    bytes.keep_one_more(best);
    --counts[index(stages[best] % plan_.stages_per_copy())];
    now = best_bytes;
  }
}

// One section after the other keeps its activations, that one first which saves most time for the
// bytes that it takes, as long as everything fits.
void RecomputeAsNeeded::keep_by_gain(const Bundle& bundle, const std::vector<int>& cuts,
                                     std::vector<int>& counts) const {
  if (bundle.ranks.size() == 1) return keep_by_gain_alone(bundle.ranks.front(), cuts, counts);
  const int rank = static_cast<int>(bundle.ranks.front());
  const std::vector<std::int64_t>& kept = sums_.kept[rank].work_of(backward_);
  const std::vector<std::int64_t>& again = sums_.recomputed[rank].work_of(backward_);
  const bool keeps_all = std::all_of(bundle.stages.begin(), bundle.stages.end(),
                                     [&](int stage) { return counts[index(stage)] == 0; });
  if (keeps_all) return;
  std::int64_t now = bytes_that_fit(bundle, cuts, counts).value_or(0);
  while (true) {
    const int* best = nullptr;
    double best_gain = 0.0;
    std::int64_t best_bytes = 0;
    for (const int& stage : bundle.stages) {
      const std::size_t s = index(stage);
      if (counts[s] == 0) continue;
      --counts[s];
      const int section = cuts[s] + counts[s];
      if (const auto then = bytes_that_fit(bundle, cuts, counts)) {
        const auto saved = static_cast<double>(part(again, section, section + 1) -
                                               part(kept, section, section + 1));
        const auto bytes = static_cast<double>(std::max<std::int64_t>(*then - now, 0));
        const double gain = saved / (bytes + 1.0);
        if (best == nullptr || gain > best_gain) {
          best = &stage;
          best_gain = gain;
          best_bytes = *then;
        }
      }
      ++counts[s];
    }
    if (best == nullptr) return;
    --counts[index(*best)];
    now = best_bytes;
  }
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

// --- one stage per rank

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

// --- the tables of a plan

DividedTables::DividedTables(const RankTables& recomputed, const RankTables& kept,
                             const Plan& plan) {
  const std::vector<bool> again = recomputed_sections(plan);
  const bool divided = recompute_is_divided(plan);
  const bool alike = recomputed.is_one_for_all();
  const int ranks = alike ? 1 : plan.pipeline;
  merged_.reserve(index(ranks));
  std::vector<std::vector<const SectionTable*>> of_rank;
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank > 0 && recomputed[rank] == recomputed[rank - 1] && kept[rank] == kept[rank - 1]) {
      of_rank.push_back(of_rank.back());
      continue;
    }
    std::vector<SectionTable>& shapes = merged_.emplace_back();
    for (std::size_t shape = 0; shape < kept[rank].size(); ++shape) {
      const SectionTable &own = *recomputed[rank][shape], &of_kept = *kept[rank][shape];
      const bool is_raised = divided && is_somewhere_faster(own, of_kept);
      shapes.push_back(is_raised ? merge_tables(no_faster_than(own, of_kept), of_kept, again)
                                 : merge_tables(own, of_kept, again));
    }
    std::vector<const SectionTable*>& pointers = of_rank.emplace_back();
    for (const SectionTable& table : shapes) pointers.push_back(&table);
    for (const SectionPrice& section : shapes.front().sections) {
      recomputes_ = recomputes_ || section.price.recompute.duration > Duration{};
    }
  }
  tables_ = alike ? RankTables(std::move(of_rank.front())) : RankTables::of_each(of_rank);
}

}  // namespace penstock
