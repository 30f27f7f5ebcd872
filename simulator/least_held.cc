// An order alone does not say what a rank holds at a time, but along the rank's own list it does:
// counts rise with F and fall with I, B and W. Of a repeated block only the first and the last
// repetition are walked, because the counts at one place of the block change by the same amount
// from repetition to repetition, so every sum of them is largest at an end. Two peaks are kept per
// rank, most held and most stash; memory under any bytes per count is at least the larger of them.
#include <algorithm>

#include "core/values/action_rules.h"
#include "simulator/held_counts.h"

namespace penstock {
namespace {

// Walks one rank's blocks. Counts of the same action of a block grow by the same from repetition to
// repetition, so that any sum of them is largest in the first or in the last.
class FullestWalk {
 public:
  using Overlap = std::pair<std::size_t, std::size_t>;

  FullestWalk(const Schedule& schedule, const std::vector<std::size_t>& chunk_of_stage)
      : schedule_(schedule), chunk_of_stage_(chunk_of_stage) {}

  void run(std::size_t rank, std::size_t chunks) {
    start(chunks);
    for (std::size_t b = schedule_.begin[rank]; b < schedule_.begin[rank + 1]; ++b) {
      const ScheduleBlock& block = schedule_.blocks[b];
      if (block.repeat == 0) continue;
      before_ = now_;
      once(block);
      if (block.repeat == 1) continue;
      skip(block.repeat - 2);
      once(block);
    }
    keep_fullest();
  }
  // Chunk by chunk, at the position that holds most, then at the one with most stash if that is
  // another.
  [[nodiscard]] const std::vector<Held>& fullest() {
    if (most_stash_ != most_held_) {
      most_held_.insert(most_held_.end(), most_stash_.begin(), most_stash_.end());
    }
    return most_held_;
  }
  // By chunk, wherever it is.
  [[nodiscard]] const std::vector<std::int32_t>& most_stash_of_chunk() const {
    return most_stash_of_chunk_;
  }
  [[nodiscard]] const std::vector<Overlap>& overlaps() const { return overlaps_; }

 private:
  void start(std::size_t chunks) {
    now_.assign(chunks, Held{});
    most_held_ = most_stash_ = now_;
    most_stash_of_chunk_.assign(chunks, 0);
    stash_ = held_ = largest_stash_ = largest_held_ = 0;
    is_most_held_ = is_most_stash_ = false;
    overlaps_.clear();
  }
  void once(const ScheduleBlock& block) {
    for (std::uint32_t at = block.begin; at < block.end; ++at) {
      const ComputeAction& action = schedule_.actions[at];
      const std::size_t chunk = chunk_of_stage_[action.stage.value];
      const Holds& holds = rule_of(action.kind).holds;
      if (holds.stash < 0 || holds.weight_stash < 0) keep_fullest();
      now_[chunk].stash += holds.stash;
      now_[chunk].weight_stash += holds.weight_stash;
      stash_ += holds.stash;
      held_ += holds.stash + holds.weight_stash;
      if (holds.stash > 0) {
        most_stash_of_chunk_[chunk] = std::max(most_stash_of_chunk_[chunk], now_[chunk].stash);
        is_most_held_ = exceeds(held_, largest_held_);
        is_most_stash_ = exceeds(stash_, largest_stash_);
      }
      if (action.overlaps_next) {
        note_overlap(chunk, chunk_of_stage_[schedule_.actions[at + 1].stage.value]);
      }
    }
  }
  // Forwards only add, so that what is held is copied before the first other action behind them.
  static bool exceeds(std::int64_t value, std::int64_t& largest) {
    if (value <= largest) return false;
    largest = value;
    return true;
  }
  void keep_fullest() {
    if (is_most_held_) most_held_ = now_;
    if (is_most_stash_) most_stash_ = now_;
    is_most_held_ = is_most_stash_ = false;
  }
  // As if what has changed since `before_` changed so many times more.
  void skip(std::uint32_t times) {
    const auto n = static_cast<std::int32_t>(times);
    keep_fullest();
    for (std::size_t c = 0; c < now_.size(); ++c) {
      const std::int32_t stash = n * (now_[c].stash - before_[c].stash);
      const std::int32_t weight_stash = n * (now_[c].weight_stash - before_[c].weight_stash);
      now_[c].stash += stash;
      now_[c].weight_stash += weight_stash;
      stash_ += stash;
      held_ += stash + weight_stash;
    }
  }
  void note_overlap(std::size_t forward_chunk, std::size_t backward_chunk) {
    const Overlap pair(forward_chunk, backward_chunk);
    const auto place = std::lower_bound(overlaps_.begin(), overlaps_.end(), pair);
    if (place == overlaps_.end() || *place != pair) overlaps_.insert(place, pair);
  }

  const Schedule& schedule_;
  const std::vector<std::size_t>& chunk_of_stage_;
  std::vector<Overlap> overlaps_;
  std::vector<Held> now_, before_, most_held_, most_stash_;
  std::vector<std::int32_t> most_stash_of_chunk_;
  std::int64_t stash_ = 0, held_ = 0;  // sums of now_: stash, and both
  std::int64_t largest_stash_ = 0, largest_held_ = 0;
  bool is_most_held_ = false, is_most_stash_ = false;  // now_, of all so far
};

}  // namespace

HeldCounts least_held(const Schedule& schedule) {
  HeldCounts counts;
  counts.begin_ranks(schedule.rank_of_stage, static_cast<std::size_t>(schedule.ranks));
  const std::vector<std::size_t> chunk_of_stage = counts.chunk_of_stage();
  counts.held_.reserve(2 * counts.stages());
  counts.stage_peaks_.reserve(2 * counts.stages());
  FullestWalk walk(schedule, chunk_of_stage);
  for (std::size_t r = 0; r < counts.ranks(); ++r) {
    walk.run(r, counts.ranks_[r].chunks);
    const std::vector<Held>& fullest = walk.fullest();
    counts.add_peaks(r, fullest, fullest.size() / counts.ranks_[r].chunks);
    counts.add_overlaps(r, walk.overlaps());
    counts.add_peaks_of_stages(r);
    const auto stages = counts.stages_of(r);
    for (std::size_t c = 0; c < stages.size(); ++c) {
      counts.stages_[static_cast<std::size_t>(stages[c])].most_stash =
          walk.most_stash_of_chunk()[c];
    }
  }
  for (int s = 0; s < schedule.stages(); ++s) {
    counts.stages_[static_cast<std::size_t>(s)].transfers = HeldCounts::any_transfers(schedule, s);
  }
  counts.held_.shrink_to_fit();  // a search keeps thousands
  counts.stage_peaks_.shrink_to_fit();
  return counts;
}

}  // namespace penstock
