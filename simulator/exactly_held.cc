// HeldCounts(liveness(schedule, waiting)), merged over replicas, without the lists of counts that
// lie between the two: a search asks this of thousands of schedules, of which it keeps six peaks
// per rank.
//
// The counts of up to four chunks lie in 16 bits each, so that two positions compare at once. Kept
// is what no other position exceeds everywhere; of these, only the corners in the end
// (fullest_peaks.h). A count that leaves 15 bits, or more chunks, are left to liveness().
#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "core/values/action_rules.h"
#include "simulator/fullest_peaks.h"
#include "simulator/held_counts.h"
#include "simulator/merge_liveness.h"

namespace penstock {
namespace {

constexpr std::size_t kMostPacked = 4;
constexpr std::int64_t kLargestPacked = 0x7FFF;
constexpr std::uint64_t kTopBits = 0x8000'8000'8000'8000U;

struct Packed {
  std::uint64_t stash = 0, weight_stash = 0;
};

std::int32_t lane(std::uint64_t packed, std::size_t chunk) {
  return static_cast<std::int32_t>((packed >> (16 * chunk)) & 0xFFFFU);
}
std::uint64_t in_lane(std::int64_t count, std::size_t chunk) {
  return static_cast<std::uint64_t>(count) << (16 * chunk);
}
// No lane borrows from the next while its top bit is set.
bool covers(std::uint64_t a, std::uint64_t b) {
  return (((a | kTopBits) - b) & kTopBits) == kTopBits;
}
bool covers(const Packed& a, const Packed& b) {
  return covers(a.stash, b.stash) && covers(a.weight_stash, b.weight_stash);
}
// The first chunk counts most.
std::uint64_t chunk_by_chunk(std::uint64_t packed) {
  std::uint64_t ordered = 0;
  for (std::size_t c = 0; c < kMostPacked; ++c) {
    ordered = (ordered << 16U) | ((packed >> (16 * c)) & 0xFFFFU);
  }
  return ordered;
}

// Walks the blocks of one rank after the other; as the walk of liveness(), which says why.
class PackedWalk {
 public:
  explicit PackedWalk(const std::vector<std::size_t>& chunk_of_stage)
      : chunk_of_stage_(chunk_of_stage) {}

  // False when a count is too large.
  bool run(std::size_t rank, std::size_t chunks, std::span<const CountedReplica> replicas) {
    chunks_ = chunks;
    is_too_large_ = false;
    peaks_.clear();
    overlaps_.clear();
    for (const CountedReplica& replica : replicas) run(replica.schedule, rank);
    return !is_too_large_;
  }

  // Of the last rank: those that can be the largest, the largest first; each has so many counts.
  const std::vector<Held>& fullest() {
    sort_peaks();
    held_.clear();
    for (const std::size_t i : corners()) {
      for (std::size_t c = 0; c < chunks_; ++c) {
        held_.push_back({lane(peaks_[i].stash, c), lane(peaks_[i].weight_stash, c)});
      }
    }
    return held_;
  }
  std::vector<std::pair<std::size_t, std::size_t>>& overlaps() {
    std::sort(overlaps_.begin(), overlaps_.end());
    return overlaps_;
  }

 private:
  void run(const Schedule& schedule, std::size_t rank) {
    schedule_ = &schedule;
    now_ = {};
    has_grown_ = false;
    for (std::size_t b = schedule.begin[rank]; b < schedule.begin[rank + 1]; ++b) {
      repeat(schedule.blocks[b]);
    }
    record();
  }

  // What one repetition of a block changes, by chunk.
  struct Change {
    std::array<std::int64_t, kMostPacked> stash{}, weight_stash{};
    bool rises = false, falls = false;  // some count does
  };

  // Where no count falls over a repetition, all counts of the last one cover those of the others;
  // where none rises, those of the first do.
  void repeat(const ScheduleBlock& block) {
    if (block.repeat == 0) return;
    const Change change = block.repeat > 1 ? change_of(block) : Change{};
    const bool mixed = change.rises && change.falls;
    if (change.rises && !mixed) skip(change, block.repeat - 1);
    for (std::uint32_t n = mixed ? block.repeat : 1; n > 0; --n) once(block);
    if (!change.rises) skip(change, block.repeat - 1);
  }

  void once(const ScheduleBlock& block) {
    for (std::uint32_t at = block.begin; at < block.end; ++at) {
      const ComputeAction& action = schedule_->actions[at];
      const std::size_t chunk = chunk_of_stage_[action.stage.value];
      const Holds& holds = rule_of(action.kind).holds;
      if (holds.stash < 0 || holds.weight_stash < 0) record();
      now_.stash += in_lane(holds.stash, chunk);
      now_.weight_stash += in_lane(holds.weight_stash, chunk);
      has_grown_ = has_grown_ || holds.stash > 0 || holds.weight_stash > 0;
      is_too_large_ = is_too_large_ || ((now_.stash | now_.weight_stash) & kTopBits) != 0;
      if (action.overlaps_next) {
        note_overlap(chunk, chunk_of_stage_[schedule_->actions[at + 1].stage.value]);
      }
    }
  }

  [[nodiscard]] Change change_of(const ScheduleBlock& block) const {
    Change change;
    for (std::uint32_t at = block.begin; at < block.end; ++at) {
      const ComputeAction& action = schedule_->actions[at];
      const std::size_t chunk = chunk_of_stage_[action.stage.value];
      const Holds& holds = rule_of(action.kind).holds;
      change.stash[chunk] += holds.stash;
      change.weight_stash[chunk] += holds.weight_stash;
    }
    for (std::size_t c = 0; c < chunks_; ++c) {
      change.rises |= change.stash[c] > 0 || change.weight_stash[c] > 0;
      change.falls |= change.stash[c] < 0 || change.weight_stash[c] < 0;
    }
    return change;
  }

  // As if the last repetition had been walked so many times more.
  void skip(const Change& change, std::uint32_t times) {
    if (!change.rises && !change.falls) return;
    record();
    for (std::size_t c = 0; c < chunks_; ++c) {
      grow(now_.stash, c, change.stash[c] * times);
      grow(now_.weight_stash, c, change.weight_stash[c] * times);
    }
    has_grown_ = true;
  }
  void grow(std::uint64_t& packed, std::size_t chunk, std::int64_t by) {
    is_too_large_ = is_too_large_ || lane(packed, chunk) + by > kLargestPacked;
    packed += in_lane(by, chunk);
  }

  void note_overlap(std::size_t forward_chunk, std::size_t backward_chunk) {
    const std::pair pair(forward_chunk, backward_chunk);
    if (std::find(overlaps_.begin(), overlaps_.end(), pair) == overlaps_.end()) {
      overlaps_.push_back(pair);
    }
  }

  // Before counts fall. In a steady state the last match is found at once, so it is moved to the
  // front.
  void record() {
    if (!has_grown_ || is_too_large_) return;
    has_grown_ = false;
    for (Packed& peak : peaks_) {
      if (!covers(peak, now_)) continue;
      std::swap(peak, peaks_.front());
      return;
    }
    std::erase_if(peaks_, [&](const Packed& peak) { return covers(now_, peak); });
    peaks_.push_back(now_);
    std::swap(peaks_.front(), peaks_.back());
  }

  void sort_peaks() {
    std::sort(peaks_.begin(), peaks_.end(), [](const Packed& a, const Packed& b) {
      return std::pair(chunk_by_chunk(a.stash), chunk_by_chunk(a.weight_stash)) >
             std::pair(chunk_by_chunk(b.stash), chunk_by_chunk(b.weight_stash));
    });
  }
  [[nodiscard]] std::vector<std::size_t> corners() const {
    std::vector<std::int32_t> coordinates;
    coordinates.reserve(2 * chunks_ * peaks_.size());
    for (const Packed& peak : peaks_) {
      for (std::size_t c = 0; c < chunks_; ++c) coordinates.push_back(lane(peak.stash, c));
      for (std::size_t c = 0; c < chunks_; ++c) coordinates.push_back(lane(peak.weight_stash, c));
    }
    return fullest_points(std::move(coordinates), 2 * chunks_);
  }

  const Schedule* schedule_ = nullptr;
  const std::vector<std::size_t>& chunk_of_stage_;
  std::size_t chunks_ = 0;
  Packed now_;
  bool has_grown_ = false;  // since the last record
  bool is_too_large_ = false;
  std::vector<Packed> peaks_;
  std::vector<Held> held_;
  std::vector<std::pair<std::size_t, std::size_t>> overlaps_;
};

HeldCounts merged(std::span<const CountedReplica> replicas) {
  std::vector<RankLiveness> ranks;
  for (const CountedReplica& replica : replicas) {
    std::vector<RankLiveness> own = liveness(replica.schedule, replica.waiting);
    ranks.insert(ranks.end(), std::make_move_iterator(own.begin()),
                 std::make_move_iterator(own.end()));
  }
  const std::size_t of_each = ranks.size() / replicas.size();
  return merged_liveness(std::move(ranks), of_each);
}

}  // namespace

HeldCounts exactly_held(const Schedule& schedule, const WaitingReceives& waiting) {
  const CountedReplica replica{schedule, waiting};
  return exactly_held({&replica, 1});
}

HeldCounts exactly_held(std::span<const CountedReplica> replicas) {
  const Schedule& schedule = replicas.front().schedule;
  HeldCounts counts;
  counts.begin_ranks(schedule.rank_of_stage, static_cast<std::size_t>(schedule.ranks));
  const std::vector<std::size_t> chunk_of_stage = counts.chunk_of_stage();
  PackedWalk walk(chunk_of_stage);
  for (std::size_t r = 0; r < counts.ranks(); ++r) {
    const std::size_t chunks = counts.ranks_[r].chunks;
    if (chunks > kMostPacked || !walk.run(r, chunks, replicas)) return merged(replicas);
    const std::vector<Held>& fullest = walk.fullest();
    counts.add_peaks(r, fullest, fullest.size() / chunks);
    counts.add_overlaps(r, walk.overlaps());
    counts.add_peaks_of_stages(r);
  }
  for (int s = 0; s < schedule.stages(); ++s) {
    const auto stage = static_cast<std::size_t>(s);
    HeldCounts::Transfers& transfers = counts.stages_[stage].transfers;
    transfers = HeldCounts::any_transfers(schedule, s);
    transfers.activation_receives = transfers.gradient_receives = 0;
    for (const CountedReplica& replica : replicas) {
      transfers.activation_receives =
          std::max(transfers.activation_receives, replica.waiting.activations[stage]);
      transfers.gradient_receives =
          std::max(transfers.gradient_receives, replica.waiting.gradients[stage]);
    }
  }
  counts.held_.shrink_to_fit();  // a search keeps thousands
  counts.stage_peaks_.shrink_to_fit();
  return counts;
}

}  // namespace penstock
