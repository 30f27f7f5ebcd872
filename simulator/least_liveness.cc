#include <algorithm>

#include "simulator/liveness.h"
#include "simulator/rank_stages.h"

namespace penstock {
namespace {

// Walks one rank's blocks. Counts of the same action of a block grow by the same from repetition to
// repetition, so that any sum of them is largest in the first or in the last.
class FullestWalk {
 public:
  FullestWalk(const Schedule& schedule, const std::vector<std::size_t>& chunk_of_stage)
      : schedule_(schedule), chunk_of_stage_(chunk_of_stage) {}

  void run(std::size_t rank, RankLiveness& result) {
    start(result.stages.size());
    for (std::size_t b = schedule_.begin[rank]; b < schedule_.begin[rank + 1]; ++b) {
      const ScheduleBlock& block = schedule_.blocks[b];
      if (block.repeat == 0) continue;
      before_ = now_;
      once(block);
      if (block.repeat == 1) continue;
      skip(block.repeat - 2);
      once(block);
    }
    result.peak_chunks = largest_held_;
    result.peaks.reserve(2);
    result.peaks.push_back(most_held_);
    if (most_stash_ != most_held_) result.peaks.push_back(most_stash_);
    result.overlaps = overlaps_;
  }

 private:
  void start(std::size_t chunks) {
    now_.stash.assign(chunks, 0);
    now_.weight_stash.assign(chunks, 0);
    most_held_ = most_stash_ = now_;
    stash_ = held_ = largest_stash_ = largest_held_ = 0;
    overlaps_.clear();
  }
  void once(const ScheduleBlock& block) {
    for (std::uint32_t at = block.begin; at < block.end; ++at) {
      const ComputeAction& action = schedule_.actions[at];
      const std::size_t chunk = chunk_of_stage_[action.stage.value];
      if (action.kind == ActionKind::kForward) {
        ++now_.stash[chunk];
        ++stash_;
        ++held_;
      } else if (action.kind == ActionKind::kWeightGradient) {
        --now_.weight_stash[chunk];
        --held_;
      } else if (is_backward(action.kind)) {
        --now_.stash[chunk];
        --stash_;
        const bool is_split = action.kind == ActionKind::kInputGradient;
        now_.weight_stash[chunk] += is_split ? 1 : 0;
        held_ -= is_split ? 0 : 1;
      }
      if (held_ > largest_held_) keep(most_held_, largest_held_, held_);
      if (stash_ > largest_stash_) keep(most_stash_, largest_stash_, stash_);
      if (action.overlaps_next) {
        note_overlap(chunk, chunk_of_stage_[schedule_.actions[at + 1].stage.value]);
      }
    }
  }
  // As if what has changed since `before_` changed so many times more.
  void skip(std::uint32_t times) {
    for (std::size_t c = 0; c < now_.stash.size(); ++c) {
      const auto n = static_cast<std::int32_t>(times);
      const std::int32_t stash = n * (now_.stash[c] - before_.stash[c]);
      const std::int32_t weight_stash = n * (now_.weight_stash[c] - before_.weight_stash[c]);
      now_.stash[c] += stash;
      now_.weight_stash[c] += weight_stash;
      stash_ += stash;
      held_ += stash + weight_stash;
    }
  }
  void keep(LiveCounts& kept, std::int64_t& largest, std::int64_t value) {
    largest = value;
    kept = now_;
  }
  void note_overlap(std::size_t forward_chunk, std::size_t backward_chunk) {
    const std::pair pair(forward_chunk, backward_chunk);
    const auto place = std::lower_bound(overlaps_.begin(), overlaps_.end(), pair);
    if (place == overlaps_.end() || *place != pair) overlaps_.insert(place, pair);
  }

  const Schedule& schedule_;
  const std::vector<std::size_t>& chunk_of_stage_;
  std::vector<std::pair<std::size_t, std::size_t>> overlaps_;
  LiveCounts now_, before_, most_held_, most_stash_;
  std::int64_t stash_ = 0, held_ = 0;  // sums of now_: stash, and both
  std::int64_t largest_stash_ = 0, largest_held_ = 0;
};

WaitingReceives one_wherever_received(const Schedule& schedule) {
  WaitingReceives waiting;
  for (int s = 0; s < schedule.stages(); ++s) {
    const auto rank_of = [&](int stage) {
      return schedule.rank_of_stage[static_cast<std::size_t>(stage)];
    };
    const bool before = schedule.has_previous(s) && rank_of(s - 1) != rank_of(s);
    const bool behind = schedule.has_next(s) && rank_of(s + 1) != rank_of(s);
    waiting.activations.push_back(before ? 1 : 0);
    waiting.gradients.push_back(behind ? 1 : 0);
  }
  return waiting;
}

}  // namespace

std::vector<RankLiveness> least_liveness(const Schedule& schedule) {
  std::vector<RankLiveness> ranks(static_cast<std::size_t>(schedule.ranks));
  const auto chunk_of_stage = give_stages(schedule.rank_of_stage, ranks);
  FullestWalk walk(schedule, chunk_of_stage);
  for (std::size_t r = 0; r < ranks.size(); ++r) walk.run(r, ranks[r]);
  note_transfers(schedule, one_wherever_received(schedule), ranks);
  return ranks;
}

}  // namespace penstock
