// Depth first over the stages with a bound: a table says what the stages from each on must hold at
// least from each section on, all ranks together, and a branch ends when the room left is less.
// Largest runs go first, since what fits usually does so early. kMostTried and kMostRuns bound the
// work by counts, never by time, so that the answer is the same on every machine; a search that
// gives up says that it proved nothing.
#include "search/loop_cuts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "search/run_totals.h"

namespace penstock {
namespace {

constexpr int kMostTried = 1 << 13;
// The table over (stage, first section) is not made beyond so many runs.
constexpr std::int64_t kMostRuns = std::int64_t{1} << 22;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max() / 4;

class LoopSearch {
 public:
  LoopSearch(const StageMemory& memory, const Plan& plan)
      : memory_(memory),
        stages_(plan.stages()),
        sections_(memory.sections()),
        rank_of_(static_cast<std::size_t>(plan.stages())),
        chunk_of_(rank_of_.size()) {
    ranks_.reserve(static_cast<std::size_t>(plan.pipeline));
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(plan.pipeline); ++rank) {
      const auto stages = memory.stages_of(rank);
      for (std::size_t c = 0; c < stages.size(); ++c) {
        rank_of_[static_cast<std::size_t>(stages[c])] = rank;
        chunk_of_[static_cast<std::size_t>(stages[c])] = c;
      }
      ranks_.emplace_back(memory_, rank);
      peaks_.push_back(memory.fullest_peak(rank));
      room_ += (memory.capacity_of(stages[0]) - memory.reserve_of(stages[0])).count;
    }
  }

  FittingCuts run() {
    if (std::int64_t{stages_} * sections_ * sections_ > kMostRuns) return {std::nullopt, false};
    memory_.remember_states_if_layers_differ();
    tabulate();
    cuts_.assign(1, 0);
    if (extend(0, room_)) return {std::move(cuts_)};
    return {std::nullopt, left_ > 0};
  }

 private:
  [[nodiscard]] std::int64_t added(int stage, StageMemory::Run run) const {
    const std::size_t rank = rank_of_[static_cast<std::size_t>(stage)];
    return memory_.added_at(rank, peaks_[rank], chunk_of_[static_cast<std::size_t>(stage)], run)
        .count;
  }
  // Sections that the stages behind this one need at least.
  [[nodiscard]] int last_end(int stage) const { return sections_ - (stages_ - 1 - stage); }
  [[nodiscard]] std::int64_t& rest(int stage, int first) {
    return rest_[static_cast<std::size_t>(stage) * (static_cast<std::size_t>(sections_) + 1) +
                 static_cast<std::size_t>(first)];
  }

  // What the stages from each on add at least, all ranks together, from each section on.
  void tabulate() {
    rest_.assign(
        (static_cast<std::size_t>(stages_) + 1) * (static_cast<std::size_t>(sections_) + 1),
        kNever);
    rest(stages_, sections_) = 0;
    for (int stage = stages_ - 1; stage >= 0; --stage) {
      const int last = stage == 0 ? 1 : last_end(stage);  // the first stage has the first section
      for (int first = stage; first < last; ++first) {
        std::int64_t least = kNever;
        for (int end = first + 1; end <= last_end(stage); ++end) {
          if (rest(stage + 1, end) == kNever) continue;
          least = std::min(least, added(stage, {first, end}) + rest(stage + 1, end));
        }
        rest(stage, first) = least;
      }
    }
  }

  // `room`: what all ranks together have left.
  bool extend(int stage, std::int64_t room) {
    if (stage == stages_) return true;
    const int first = cuts_.back();
    if (rest(stage, first) > room) return false;
    const auto s = static_cast<std::size_t>(stage);
    RunTotals& rank = ranks_[rank_of_[s]];
    for (int end = furthest(stage, first); end > first && left_ > 0; --end) {
      if (rest(stage + 1, end) == kNever) continue;
      --left_;
      const StageMemory::Run run{first, end};
      rank.set(chunk_of_[s], run);
      cuts_.push_back(end);
      if (extend(stage + 1, room - added(stage, run))) return true;
      cuts_.pop_back();
    }
    rank.set(chunk_of_[s], {0, 0});
    return false;
  }

  // The largest end up to which the stage fits beside the stages of its rank before it.
  int furthest(int stage, int first) {
    const auto s = static_cast<std::size_t>(stage);
    RunTotals& rank = ranks_[rank_of_[s]];
    int low = first;
    int beyond = last_end(stage) + 1;
    while (low + 1 < beyond) {
      const int middle = low + (beyond - low) / 2;
      rank.set(chunk_of_[s], {first, middle});
      const bool fits = rank.total() <= memory_.capacity_of(stage);
      (fits ? low : beyond) = middle;
    }
    return low;
  }

  StageMemory memory_;  // its own: what a run holds is asked for by every stage
  int stages_, sections_;
  std::vector<std::size_t> rank_of_, chunk_of_;  // by stage
  std::vector<RunTotals> ranks_;                 // of the stages so far
  std::vector<std::size_t> peaks_;               // by rank: what counts for all together
  std::int64_t room_ = 0;                        // of all ranks
  std::vector<std::int64_t> rest_;               // [stage][first section]
  std::vector<int> cuts_;
  int left_ = kMostTried;
};

}  // namespace

FittingCuts loop_cuts(const StageMemory& memory, const Plan& plan) {
  if (!memory.is_monotone() || plan.copies() > 1) return {std::nullopt, false};
  return LoopSearch(memory, plan).run();
}

}  // namespace penstock
