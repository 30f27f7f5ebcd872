// Two forms of the same sum: by prices of stages, when they are known, and by sums over sections,
// for any cuts, which the search asks millions of times. Both take the counts of what a rank holds
// at its peaks (HeldCounts) and the largest figure of any shape. StageMemory says how far a stage
// may reach; where sections can make a stage smaller (tied weights, boundaries that differ) its
// limit is not monotone, and says so.
#include "search/memory.h"

#include <algorithm>
#include <array>
#include <limits>

#include "search/prefix_part.h"

namespace penstock {
namespace {

// Of so many sections the table is 8 MB, and it grows with their square; of more of them every run
// is summed whenever it is asked for.
constexpr int kMostRemembered = 1000;

// Of so many stages no memory is asked for.
constexpr std::size_t kFew = 8;

// The largest figures of stages among some of their shapes.
class LargestShapes {
 public:
  LargestShapes(const StagePrices& prices, const ShapeRange& shapes)
      : prices_(prices),
        shapes_(shapes.end > shapes.first ? shapes : ShapeRange{0, prices.shapes}) {}
  [[nodiscard]] Bytes operator()(int stage, Bytes ComputePrice::*member) const {
    Bytes most;
    for (int shape = shapes_.first; shape < shapes_.end; ++shape) {
      most = std::max(most, prices_.compute_of(stage, shape).*member);
    }
    return most;
  }

 private:
  const StagePrices& prices_;
  ShapeRange shapes_;
};

Bytes stash_peak(const LargestShapes& largest, const HeldCounts& held, std::size_t rank) {
  const auto stages = held.stages_of(rank);
  Bytes peak;
  for (std::size_t i = 0; i < held.peaks(rank); ++i) {
    const auto counts = held.peak(rank, i);
    Bytes sum;
    for (std::size_t c = 0; c < stages.size(); ++c) {
      sum += largest(stages[c], &ComputePrice::stash) * counts[c].stash;
      sum += largest(stages[c], &ComputePrice::weight_stash) * counts[c].weight_stash;
    }
    peak = std::max(peak, sum);
  }
  return peak;
}

// Buffers of the transfers over both boundaries of every stage of the rank.
Bytes buffers(const LargestShapes& largest, const HeldCounts& held, std::size_t rank) {
  Bytes sum;
  for (const int stage : held.stages_of(rank)) {
    const HeldCounts::Transfers& counts = held.transfers(stage);
    const Bytes own = largest(stage, &ComputePrice::boundary);
    sum += own * (counts.gradient_receives + counts.activation_sends);
    if (stage == 0) continue;
    const Bytes before = largest(stage - 1, &ComputePrice::boundary);
    sum += before * (counts.activation_receives + counts.gradient_sends);
  }
  return sum;
}

MemoryUse memory_of_rank(const StagePrices& prices, const LargestShapes& largest,
                         const HeldCounts& held, std::size_t rank) {
  const auto stages = held.stages_of(rank);
  MemoryUse use;
  for (const int stage : stages) {
    const StepPrice& step = prices.step[static_cast<std::size_t>(stage)];
    use.parameters += step.parameters;
    use.gradients += step.gradients;
    use.optimizer_state += step.optimizer_state;
    use.communication = std::max(use.communication, step.section_buffers);
    use.working_peak = std::max(use.working_peak, largest(stage, &ComputePrice::working_peak));
  }
  for (const auto& [a, b] : held.overlaps(rank)) {  // both at work at once
    use.working_peak =
        std::max(use.working_peak, largest(stages[a], &ComputePrice::working_peak) +
                                       largest(stages[b], &ComputePrice::working_peak));
  }
  use.stash = stash_peak(largest, held, rank);
  use.communication += buffers(largest, held, rank);
  return use;
}

// Where stages live in slots, each slot has room for the largest of them.
void keep_in_slots(const StagePrices& prices, const RankLiveness& rank, MemoryUse& use) {
  if (rank.weight_slots == 0) return;
  Bytes parameters, gradients, optimizer_state;
  for (const int stage : rank.stages) {
    const StepPrice& step = prices.step[static_cast<std::size_t>(stage)];
    parameters = std::max(parameters, step.parameters);
    gradients = std::max(gradients, step.gradients);
    optimizer_state = std::max(optimizer_state, step.optimizer_state);
  }
  use.parameters = parameters * rank.weight_slots;
  use.gradients = gradients * rank.weight_slots;
  use.optimizer_state = optimizer_state * rank.weight_slots;
}

// A stage can shrink by growing when it comes to hold two sections of a tied set, or when what its
// new last section sends is smaller.
bool grows_with_sections(const SectionSums& sums, const TiedParameters& ties) {
  const bool one_boundary = std::all_of(sums.boundary.begin(), sums.boundary.end() - 1,
                                        [&](auto bytes) { return bytes == sums.boundary.front(); });
  return one_boundary && ties.never_repeated_within(sums.sections() - 1);
}
bool grow_with_sections(const RankSums& sums, const TiedParameters& ties, std::size_t ranks) {
  const std::size_t different = sums.is_one_for_all() ? 1 : ranks;
  for (std::size_t rank = 0; rank < different; ++rank) {
    if (!grows_with_sections(sums[static_cast<int>(rank)], ties)) return false;
  }
  return true;
}

std::vector<int> ranks_of_stages(const HeldCounts& held) {
  std::vector<int> ranks(held.stages());
  for (std::size_t rank = 0; rank < held.ranks(); ++rank) {
    for (const int stage : held.stages_of(rank)) {
      ranks[static_cast<std::size_t>(stage)] = static_cast<int>(rank);
    }
  }
  return ranks;
}

}  // namespace

std::vector<MemoryUse> memory_of_ranks(const StagePrices& prices, const HeldCounts& held,
                                       const PerRank<Bytes>& reserve) {
  const LargestShapes largest(prices, {});
  std::vector<MemoryUse> ranks;
  ranks.reserve(held.ranks());
  for (std::size_t rank = 0; rank < held.ranks(); ++rank) {
    ranks.push_back(memory_of_rank(prices, largest, held, rank));
    ranks.back().reserve = reserve[static_cast<int>(rank)];
  }
  return ranks;
}

std::vector<MemoryUse> memory_of_ranks(const StagePrices& prices,
                                       const std::vector<RankLiveness>& liveness,
                                       const PerRank<Bytes>& reserve,
                                       const PerRank<ShapeRange>& shapes) {
  std::size_t stages = 0;
  for (const RankLiveness& rank : liveness) stages += rank.stages.size();
  const std::size_t kinds = stages / static_cast<std::size_t>(prices.stages);
  const std::size_t of_kind = liveness.size() / kinds;
  std::vector<MemoryUse> ranks;
  ranks.reserve(liveness.size());
  for (auto first = liveness.begin(); first != liveness.end();
       first += static_cast<std::ptrdiff_t>(of_kind)) {
    const HeldCounts held({first, first + static_cast<std::ptrdiff_t>(of_kind)});
    for (std::size_t rank = 0; rank < of_kind; ++rank) {
      const int listed = static_cast<int>(ranks.size());
      ranks.push_back(memory_of_rank(prices, {prices, shapes[listed]}, held, rank));
      keep_in_slots(prices, first[static_cast<std::ptrdiff_t>(rank)], ranks.back());
      ranks.back().reserve = reserve[listed];
    }
  }
  return ranks;
}

StageMemory::StageMemory(const RankSums& sums, const TiedParameters& ties,
                         const ShardedState& state, const HeldCounts& held,
                         const PerRank<Bytes>& reserve, const PerRank<Bytes>& capacity,
                         const ShortLast& last)
    : sums_(sums),
      ties_(ties),
      state_(state),
      held_(held),
      reserve_(reserve),
      capacity_(capacity),
      last_(last),
      monotone_(held.stages() > 1 && grow_with_sections(sums, ties, held.ranks())),
      are_alike_(monotone_ && sums[0].has_alike_layers) {
  const bool alike = sums.is_one_for_all() && reserve.is_one_for_all() && capacity.is_one_for_all();
  if (!alike) rank_of_stage_ = ranks_of_stages(held);
}

void StageMemory::remember_states() {
  if (sections() > kMostRemembered) return;
  const auto ends = static_cast<std::size_t>(sections()) + 1;
  states_.assign(ends * ends, -1);
}

std::int64_t StageMemory::state(int first, int end) const {
  if (are_alike_) return state_of_alike(first, end);
  if (states_.empty()) return sum_of_state(first, end);
  const auto ends = static_cast<std::size_t>(sections()) + 1;
  std::int64_t& known =
      states_[static_cast<std::size_t>(first) * ends + static_cast<std::size_t>(end)];
  if (known < 0) known = sum_of_state(first, end);
  return known;
}

std::int64_t StageMemory::state_of_alike(int first, int end) const {
  const int length = end - first;
  const int ends = (first == 0 ? 1 : 0) + (end == sections() ? 2 : 0);
  const int key = 4 * length + ends;
  KnownLength& known =
      known_lengths_[static_cast<std::size_t>(length + 8 * ends) % known_lengths_.size()];
  if (known.key != key) known = {key, sum_of_state(first, end)};
  return known.bytes;
}

std::int64_t StageMemory::sum_of_state(int first, int end) const {
  const SectionSums& sums = sums_[0];  // every device type has the same parameters
  HeldParameters parameters = sums.held(first, end);
  if (!monotone_) parameters.all -= ties_.repeated(first, end);  // monotone: nothing is repeated
  const std::int64_t fixed =
      sums.fixed[static_cast<std::size_t>(end)] - sums.fixed[static_cast<std::size_t>(first)];
  const auto parameters_of = [&](int i) {
    const auto section = static_cast<std::size_t>(i);
    return sums.parameters[section + 1] - sums.parameters[section];
  };
  // The upper bits of a product with an odd number differ where the lower ones of counts do not.
  const auto hash = static_cast<std::uint64_t>(parameters.all) * 0x9e3779b97f4a7c15u;
  KnownState& known = known_states_[hash >> 60];
  if (parameters != known.parameters) known = {parameters, state_.of(parameters).sum()};
  return known.bytes + fixed + most_section_buffers(state_, first, end, parameters_of);
}

std::int64_t StageMemory::buffers(int stage, int first, int end) const {
  const HeldCounts::Transfers& counts = held_.transfers(stage);
  std::int64_t bytes = sums_of(stage).boundary[static_cast<std::size_t>(end) - 1] *
                       (counts.gradient_receives + counts.activation_sends);
  if (first > 0) {
    bytes += sums_of(stage - 1).boundary[static_cast<std::size_t>(first) - 1] *
             (counts.activation_receives + counts.gradient_sends);
  }
  return bytes;
}

std::int64_t StageMemory::peak(int stage, int first, int end) const {
  const SectionSums& sums = sums_of(stage);
  const auto f = static_cast<std::size_t>(first);
  const auto e = static_cast<std::size_t>(end);
  const std::int64_t stash = sums.stash[e] - sums.stash[f];
  const std::int64_t weight_stash = sums.weight_stash[e] - sums.weight_stash[f];
  Less less;
  if (has_short_last()) {
    less = less_of_last(static_cast<std::size_t>(rank_of(stage)), {first, end});
  }
  std::int64_t most = 0;
  for (const Held& held : held_.peaks_of_stage(stage)) {
    most = std::max(
        most, held.stash * stash + held.weight_stash * weight_stash - saved_by_last(held, less));
  }
  return most;
}

// Of one stage at one of its peaks.
std::int64_t StageMemory::activations(std::size_t rank, const Held& held, Run run) const {
  const SectionSums& sums = sums_[static_cast<int>(rank)];
  const std::int64_t full = held.stash * part(sums.stash, run.first, run.end) +
                            held.weight_stash * part(sums.weight_stash, run.first, run.end);
  return has_short_last() ? full - saved_by_last(held, less_of_last(rank, run)) : full;
}

StageMemory::Less StageMemory::less_of_last(std::size_t rank, Run run) const {
  const SectionSums& full = sums_[static_cast<int>(rank)];
  const auto less = [&](std::vector<std::int64_t> SectionSums::*of) {
    const std::int64_t smaller =
        part(full.*of, run.first, run.end) - part(last_.sums->*of, run.first, run.end);
    return std::max<std::int64_t>(0, smaller);
  };
  return {less(&SectionSums::stash), less(&SectionSums::weight_stash)};
}

// Counts do not tell whether it is before its I or behind it, if some are before and some behind.
std::int64_t StageMemory::saved_by_last(const Held& held, const Less& less) const {
  if (held.stash + held.weight_stash != last_.micro_batches) return 0;
  if (held.weight_stash == 0) return less.stash;
  return held.stash == 0 ? less.weight_stash : std::min(less.stash, less.weight_stash);
}

Bytes StageMemory::total(int stage, int first, int end) const {
  return Bytes{state(first, end) + peak(stage, first, end) +
               sums_of(stage).working_peak_of(first, end) + buffers(stage, first, end)} +
         reserve_of(stage);
}

Bytes StageMemory::total_of_rank(std::size_t rank, const std::vector<int>& cuts) const {
  const auto stages = held_.stages_of(rank);
  const std::size_t per_copy = cuts.size() - 1;
  std::array<Run, kFew> few;
  std::vector<Run> many(stages.size() > kFew ? stages.size() : 0);
  const std::span<Run> runs =
      many.empty() ? std::span<Run>(few).first(stages.size()) : std::span<Run>(many);
  for (std::size_t c = 0; c < stages.size(); ++c) {
    const auto s = static_cast<std::size_t>(stages[c]) % per_copy;
    runs[c] = {cuts[s], cuts[s + 1]};
  }
  return total_of_runs(rank, runs);
}

Bytes StageMemory::total_of_runs(std::size_t rank, std::span<const Run> runs) const {
  const auto stages = held_.stages_of(rank);
  const SectionSums& sums = sums_[static_cast<int>(rank)];
  const auto is_empty = [](const Run& run) { return run.first == run.end; };
  const auto working_of = [&](const Run& run) {
    return is_empty(run) ? 0 : sums.working_peak_of(run.first, run.end);
  };
  std::int64_t kept = 0;
  std::int64_t working = 0;
  for (std::size_t c = 0; c < runs.size(); ++c) {
    if (is_empty(runs[c])) continue;
    const auto [first, end] = runs[c];
    kept += state(first, end) + buffers(stages[c], first, end);
    working = std::max(working, working_of(runs[c]));
  }
  for (const auto& [a, b] : held_.overlaps(rank)) {
    working = std::max(working, working_of(runs[a]) + working_of(runs[b]));
  }
  return Bytes{kept + fullest(rank, runs) + working} + reserve_[static_cast<int>(rank)];
}

// The activations of a rank where they take most.
std::int64_t StageMemory::fullest(std::size_t rank, std::span<const Run> runs) const {
  std::int64_t most = 0;
  std::array<Less, kFew> few;  // of one full micro-batch
  const bool known = !has_short_last() && runs.size() <= kFew;
  const SectionSums& sums = sums_[static_cast<int>(rank)];
  for (std::size_t c = 0; known && c < runs.size(); ++c) {
    few[c] = {part(sums.stash, runs[c].first, runs[c].end),
              part(sums.weight_stash, runs[c].first, runs[c].end)};
  }
  for (std::size_t i = 0; i < held_.peaks(rank); ++i) {
    const auto counts = held_.peak(rank, i);
    std::int64_t held = 0;
    for (std::size_t c = 0; known && c < runs.size(); ++c) {
      held += counts[c].stash * few[c].stash + counts[c].weight_stash * few[c].weight_stash;
    }
    for (std::size_t c = 0; !known && c < runs.size(); ++c) {
      held += activations(rank, counts[c], runs[c]);
    }
    most = std::max(most, held);
  }
  return most;
}

Bytes StageMemory::added_at(std::size_t rank, std::size_t peak, std::size_t chunk, Run run) const {
  return for_the_step(held_.stages_of(rank)[chunk], run.first, run.end) +
         Bytes{activations(rank, held_.peak(rank, peak)[chunk], run)};
}

std::size_t StageMemory::fullest_peak(std::size_t rank) const {
  std::size_t best = 0;
  std::int64_t most = -1;
  for (std::size_t i = 0; i < held_.peaks(rank); ++i) {
    std::int64_t sum = 0;
    for (const Held& counts : held_.peak(rank, i)) sum += counts.stash + counts.weight_stash;
    if (sum > most) best = i;
    most = std::max(most, sum);
  }
  return best;
}

const StageMemory::LeastSection& StageMemory::least_section(std::size_t rank) const {
  const SectionSums& sums = sums_[static_cast<int>(rank)];
  LeastSection& least = least_section_;
  if (least.sums == &sums) return least;
  const bool are_alike =
      sums.has_alike_layers && (!has_short_last() || last_.sums->has_alike_layers);
  const std::size_t different = are_alike ? 2 : static_cast<std::size_t>(sums.sections()) - 1;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  least = {&sums, kMost, kMost, kMost, {}};
  HeldParameters before;  // most layers hold as many as the one before them
  std::int64_t state_of_one = state_.least_of(before);
  for (std::size_t i = 1; i < different; ++i) {
    const HeldParameters parameters = sums.held(static_cast<int>(i), static_cast<int>(i) + 1);
    if (parameters != before) {
      state_of_one = state_.least_of(parameters);
      before = parameters;
    }
    least.kept = std::min(least.kept, state_of_one + sums.fixed[i + 1] - sums.fixed[i]);
    least.stash = std::min(least.stash, sums.stash[i + 1] - sums.stash[i]);
    least.weight_stash =
        std::min(least.weight_stash, sums.weight_stash[i + 1] - sums.weight_stash[i]);
    if (!has_short_last()) continue;
    const Less here = less_of_last(rank, {static_cast<int>(i), static_cast<int>(i) + 1});
    least.less.stash = std::max(least.less.stash, here.stash);
    least.less.weight_stash = std::max(least.less.weight_stash, here.weight_stash);
  }
  return least;
}

int StageMemory::most_middle_sections(std::size_t rank, int stages_per_copy) const {
  const auto stages = held_.stages_of(rank);
  const int sections = sums_[static_cast<int>(rank)].sections();
  if (sections < 3) return sections;
  const LeastSection& least = least_section(rank);
  const std::int64_t room =
      (capacity_[static_cast<int>(rank)] - reserve_[static_cast<int>(rank)]).count;
  int most = sections - 2;
  for (std::size_t i = 0; i < held_.peaks(rank); ++i) {
    const auto counts = held_.peak(rank, i);
    std::int64_t left = room;
    std::int64_t cheapest = std::numeric_limits<std::int64_t>::max();
    int must = 0;
    for (std::size_t c = 0; c < stages.size(); ++c) {
      const int stage = stages[c] % stages_per_copy;
      const std::int64_t each = least.kept + counts[c].stash * least.stash +
                                counts[c].weight_stash * least.weight_stash -
                                saved_by_last(counts[c], least.less);
      cheapest = std::min(cheapest, each);
      if (stage == 0 || stage + 1 == stages_per_copy) {  // the first section, or the last
        const int end = stage == 0 ? 1 : sections;
        left -= state(end - 1, end) + activations(rank, counts[c], {end - 1, end});
      } else {
        left -= each;
        ++must;
      }
    }
    if (left < 0) return -1;
    if (cheapest <= 0) continue;
    most = static_cast<int>(std::min<std::int64_t>(most, must + left / cheapest));
  }
  return most;
}

std::int64_t StageMemory::section_alone(int stage, int section) const {
  return state(section, section + 1) + peak(stage, section, section + 1) +
         sums_of(stage).working_peak_of(section, section + 1);
}

bool StageMemory::every_section_within(int stages, int parts) const {
  const std::size_t different = sums_.is_one_for_all() ? 1 : held_.ranks();
  std::int64_t widest = 0;  // boundary
  for (std::size_t rank = 0; rank < different; ++rank) {
    const std::vector<std::int64_t>& boundary = sums_[static_cast<int>(rank)].boundary;
    widest = std::max(widest, *std::max_element(boundary.begin(), boundary.end()));
  }
  for (int stage = 0; stage < stages; ++stage) {
    const HeldCounts::Transfers& counts = held_.transfers(stage);
    const std::int64_t transfers = widest * (counts.activation_receives + counts.gradient_receives +
                                             counts.activation_sends + counts.gradient_sends);
    const auto fits = [&](const SectionSums::Distinct& section) {
      return !could_get(stage, stages, section) ||
             section_alone(stage, section.first) + transfers <= part_of(stage, parts);
    };
    const auto& distinct = sums_of(stage).distinct;
    if (!std::all_of(distinct.begin(), distinct.end(), fits)) return false;
  }
  return true;
}

bool StageMemory::some_stage_stays_empty(int stages, int parts) const {
  for (int stage = 0; stage < stages; ++stage) {
    const auto fits = [&](const SectionSums::Distinct& section) {
      return could_get(stage, stages, section) &&
             section_alone(stage, section.first) <= part_of(stage, parts);
    };
    const auto& distinct = sums_of(stage).distinct;
    if (std::none_of(distinct.begin(), distinct.end(), fits)) return true;
  }
  return false;
}

}  // namespace penstock
