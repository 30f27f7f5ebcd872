#include <algorithm>

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
  }
  // Chunk by chunk, at the position that holds most and at the one with most stash.
  [[nodiscard]] const std::vector<Held>& most_held() const { return most_held_; }
  [[nodiscard]] const std::vector<Held>& most_stash() const { return most_stash_; }
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
    overlaps_.clear();
  }
  void once(const ScheduleBlock& block) {
    for (std::uint32_t at = block.begin; at < block.end; ++at) {
      const ComputeAction& action = schedule_.actions[at];
      const std::size_t chunk = chunk_of_stage_[action.stage.value];
      if (action.kind == ActionKind::kForward) {
        most_stash_of_chunk_[chunk] = std::max(most_stash_of_chunk_[chunk], ++now_[chunk].stash);
        ++stash_;
        if (++held_ > largest_held_) keep(most_held_, largest_held_, held_);
        if (stash_ > largest_stash_) keep(most_stash_, largest_stash_, stash_);
      } else if (action.kind == ActionKind::kWeightGradient) {
        --now_[chunk].weight_stash;
        --held_;
      } else if (is_backward(action.kind)) {
        --now_[chunk].stash;
        --stash_;
        const int kept = action.kind == ActionKind::kInputGradient ? 1 : 0;
        now_[chunk].weight_stash += kept;
        held_ -= 1 - kept;
      }
      if (action.overlaps_next) {
        note_overlap(chunk, chunk_of_stage_[schedule_.actions[at + 1].stage.value]);
      }
    }
  }
  // As if what has changed since `before_` changed so many times more.
  void skip(std::uint32_t times) {
    const auto n = static_cast<std::int32_t>(times);
    for (std::size_t c = 0; c < now_.size(); ++c) {
      const std::int32_t stash = n * (now_[c].stash - before_[c].stash);
      const std::int32_t weight_stash = n * (now_[c].weight_stash - before_[c].weight_stash);
      now_[c].stash += stash;
      now_[c].weight_stash += weight_stash;
      stash_ += stash;
      held_ += stash + weight_stash;
    }
  }
  void keep(std::vector<Held>& kept, std::int64_t& largest, std::int64_t value) {
    largest = value;
    kept = now_;
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
};

HeldCounts::Transfers any_transfers(const Schedule& schedule, int stage) {
  const auto rank_of = [&](int of) { return schedule.rank_of_stage[static_cast<std::size_t>(of)]; };
  const bool before = schedule.has_previous(stage) && rank_of(stage - 1) != rank_of(stage);
  const bool behind = schedule.has_next(stage) && rank_of(stage + 1) != rank_of(stage);
  HeldCounts::Transfers transfers;
  transfers.activation_receives = transfers.gradient_sends = before ? 1 : 0;
  transfers.gradient_receives = transfers.activation_sends = behind ? 1 : 0;
  return transfers;
}

}  // namespace

HeldCounts least_held(const Schedule& schedule) {
  HeldCounts counts;
  counts.begin_ranks(schedule.rank_of_stage, static_cast<std::size_t>(schedule.ranks));
  std::vector<std::size_t> chunk_of_stage(counts.stages());
  for (std::size_t r = 0; r < counts.ranks(); ++r) {
    const auto stages = counts.stages_of(r);
    for (std::size_t c = 0; c < stages.size(); ++c) {
      chunk_of_stage[static_cast<std::size_t>(stages[c])] = c;
    }
  }
  counts.held_.reserve(2 * counts.stages());
  counts.stage_peaks_.reserve(2 * counts.stages());
  FullestWalk walk(schedule, chunk_of_stage);
  for (std::size_t r = 0; r < counts.ranks(); ++r) {
    HeldCounts::Rank& rank = counts.ranks_[r];
    walk.run(r, rank.chunks);
    rank.first_held = counts.held_.size();
    counts.held_.insert(counts.held_.end(), walk.most_held().begin(), walk.most_held().end());
    rank.peaks = walk.most_stash() == walk.most_held() ? 1 : 2;
    if (rank.peaks == 2) {
      counts.held_.insert(counts.held_.end(), walk.most_stash().begin(), walk.most_stash().end());
    }
    rank.first_overlap = counts.overlaps_.size();
    rank.overlaps = walk.overlaps().size();
    counts.overlaps_.insert(counts.overlaps_.end(), walk.overlaps().begin(), walk.overlaps().end());
    counts.add_peaks_of_stages(r);
    const auto stages = counts.stages_of(r);
    for (std::size_t c = 0; c < stages.size(); ++c) {
      counts.stages_[static_cast<std::size_t>(stages[c])].most_stash =
          walk.most_stash_of_chunk()[c];
    }
  }
  for (int s = 0; s < schedule.stages(); ++s) {
    counts.stages_[static_cast<std::size_t>(s)].transfers = any_transfers(schedule, s);
  }
  return counts;
}

}  // namespace penstock
