// Walks the list of every rank once and counts activations per chunk: F takes one, B or W gives it
// back, I turns one from stash into weight stash; a receive holds a buffer from its posting to its
// consumer. What a rank holds at most is not one number, because the bytes of its chunks differ: of
// all counts those are kept that no other counts exceed in every chunk, and bytes decide later. Up
// to four chunks are packed into one word, so that two sets of counts compare in one subtraction.
//
// Blocks of a rolled-up list are walked twice and then multiplied: where no count falls over a
// repetition the last repetition covers all others, where none rises the first does. Invariant: the
// peaks are those of the list written out.
#include "simulator/liveness.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "core/values/action_rules.h"

namespace penstock {
namespace {

bool dominates(const LiveCounts& a, const LiveCounts& b) {
  return std::equal(a.stash.begin(), a.stash.end(), b.stash.begin(), std::greater_equal<>()) &&
         std::equal(a.weight_stash.begin(), a.weight_stash.end(), b.weight_stash.begin(),
                    std::greater_equal<>());
}

// Walks one rank's list. Counts grow at F and at I and peak before the next action that lets go.
class RankWalk {
 public:
  explicit RankWalk(RankLiveness& result) : result_(result) {
    const std::size_t chunks = result.stages.size();
    now_.stash.assign(chunks, 0);
    now_.weight_stash.assign(chunks, 0);
    activations_waiting_.assign(chunks, 0);
    gradients_waiting_.assign(chunks, 0);
    result_.activation_receives.assign(chunks, 0);
    result_.gradient_receives.assign(chunks, 0);
    result_.sends_activation.assign(chunks, false);
    result_.sends_gradient.assign(chunks, false);
  }

  // What one repetition of a block changes, by chunk.
  struct Change {
    std::vector<std::int32_t> stash, weight_stash;
    bool rises = false, falls = false;  // some count does
  };
  // As if the last repetition had been walked so many times more.
  void skip(const Change& change, std::uint32_t times) {
    if (!change.rises && !change.falls) return;
    record();
    for (std::size_t c = 0; c < change.stash.size(); ++c) {
      grow(now_.stash, packed_.stash, c, change.stash[c] * static_cast<std::int32_t>(times));
      grow(now_.weight_stash, packed_.weight_stash, c,
           change.weight_stash[c] * static_cast<std::int32_t>(times));
      // Held from F to B or W: I only moves one from stash to weight stash.
      chunks_ += std::int64_t{change.stash[c] + change.weight_stash[c]} * times;
    }
    has_grown_ = true;
  }

  void finish() {
    record();
    if (packs_) unpack();
    result_.peaks.reserve(peaks_.size());
    for (Peak& peak : peaks_) result_.peaks.push_back(std::move(peak.counts));
    std::sort(result_.peaks.begin(), result_.peaks.end(), [](const auto& a, const auto& b) {
      return std::tie(a.stash, a.weight_stash) > std::tie(b.stash, b.weight_stash);
    });
    std::sort(result_.overlaps.begin(), result_.overlaps.end());
  }

  void overlap(std::size_t forward_chunk, std::size_t backward_chunk) {
    const std::pair pair(forward_chunk, backward_chunk);
    auto& pairs = result_.overlaps;
    if (std::find(pairs.begin(), pairs.end(), pair) == pairs.end()) pairs.push_back(pair);
  }

  void step(ActionKind kind, std::size_t chunk) {
    const Holds& holds = rule_of(kind).holds;
    if (holds.stash < 0 || holds.weight_stash < 0) record();
    if (holds.stash != 0) grow(now_.stash, packed_.stash, chunk, holds.stash);
    if (holds.weight_stash != 0) {
      grow(now_.weight_stash, packed_.weight_stash, chunk, holds.weight_stash);
    }
    has_grown_ = has_grown_ || holds.stash > 0 || holds.weight_stash > 0;
    // Held from F to B or W: I only moves one from stash to weight stash.
    count_chunks(holds.stash + holds.weight_stash);
    hold(holds.activation_buffer, activations_waiting_[chunk], result_.activation_receives[chunk]);
    hold(holds.gradient_buffer, gradients_waiting_[chunk], result_.gradient_receives[chunk]);
    if (kind == ActionKind::kSendActivation) result_.sends_activation[chunk] = true;
    if (kind == ActionKind::kSendGradient) result_.sends_gradient[chunk] = true;
  }

 private:
  void count_chunks(int change) {
    chunks_ += change;
    result_.peak_chunks = std::max(result_.peak_chunks, chunks_);
  }
  // What came without a receive, from a stage of the same rank, was never counted.
  static void hold(int change, std::int32_t& waiting, std::int32_t& most) {
    waiting = std::max(0, waiting + change);
    most = std::max(most, waiting);
  }

  // The counts of up to four chunks in 16 bits each, so that they compare at once.
  struct Packed {
    std::uint64_t stash = 0, weight_stash = 0;
  };
  static constexpr std::size_t kMostPacked = 4;
  static constexpr std::int32_t kLargestPacked = 0x7FFF;
  static constexpr std::uint64_t kTopBits = 0x8000'8000'8000'8000U;

  struct Peak {
    Packed packed;
    LiveCounts counts;
    std::int64_t sum = 0;  // of all its counts: of two peaks only the larger can cover the other
  };

  void grow(std::vector<std::int32_t>& counts, std::uint64_t& packed, std::size_t chunk,
            std::int32_t by) {
    counts[chunk] += by;
    if (packs_ && (chunk >= kMostPacked || counts[chunk] > kLargestPacked)) {
      unpack();
      packs_ = false;
    }
    if (packs_) packed += static_cast<std::uint64_t>(by) << (16 * chunk);
  }
  // The counts of all peaks, which are not kept apart while they are packed: most peaks are covered
  // by others later.
  void unpack() {
    for (Peak& peak : peaks_) {
      peak.counts.stash.resize(now_.stash.size());
      peak.counts.weight_stash.resize(now_.stash.size());
      for (std::size_t c = 0; c < std::min(now_.stash.size(), kMostPacked); ++c) {
        peak.counts.stash[c] = lane(peak.packed.stash, c);
        peak.counts.weight_stash[c] = lane(peak.packed.weight_stash, c);
      }
    }
  }
  static std::int32_t lane(std::uint64_t packed, std::size_t chunk) {
    return static_cast<std::int32_t>((packed >> (16 * chunk)) & 0xFFFFU);
  }
  // No lane borrows from the next while its top bit is set.
  static bool covers(std::uint64_t a, std::uint64_t b) {
    return (((a | kTopBits) - b) & kTopBits) == kTopBits;
  }
  [[nodiscard]] bool covers(const Peak& a, const Peak& b) const {
    if (a.sum < b.sum) return false;
    if (!packs_) return dominates(a.counts, b.counts);
    return covers(a.packed.stash, b.packed.stash) &&
           covers(a.packed.weight_stash, b.packed.weight_stash);
  }

  // Called before counts fall. Keeps only counts that no other position exceeds everywhere; in a
  // steady state the last match is found at once, so it is moved to the front.
  void record() {
    if (!has_grown_) return;
    has_grown_ = false;
    current_.packed = packed_;
    current_.sum = chunks_;
    if (!packs_) current_.counts = now_;  // else they are unpacked in the end
    for (std::size_t i = 0; i < peaks_.size(); ++i) {
      if (covers(peaks_[i], current_)) {
        if (i > 0) std::swap(peaks_[i], peaks_[0]);
        return;
      }
    }
    std::erase_if(peaks_, [&](const Peak& peak) { return covers(current_, peak); });
    peaks_.push_back(current_);
    std::swap(peaks_.front(), peaks_.back());
  }

  RankLiveness& result_;
  LiveCounts now_;
  Packed packed_;      // now_, while packs_
  bool packs_ = true;  // no count and no chunk has been too many
  Peak current_;       // its counts only once they are not packed
  std::vector<Peak> peaks_;
  bool has_grown_ = false;  // since the last record
  std::int64_t chunks_ = 0;
  std::vector<std::int32_t> activations_waiting_, gradients_waiting_;
};

// Gives every rank its stages; returns which chunk of its rank each stage is.
std::vector<std::size_t> give_stages(const std::vector<int>& rank_of_stage,
                                     std::vector<RankLiveness>& ranks) {
  std::vector<std::size_t> chunk_of_stage;
  chunk_of_stage.reserve(rank_of_stage.size());
  for (std::size_t s = 0; s < rank_of_stage.size(); ++s) {
    auto& stages = ranks[static_cast<std::size_t>(rank_of_stage[s])].stages;
    chunk_of_stage.push_back(stages.size());
    stages.push_back(static_cast<int>(s));
  }
  return chunk_of_stage;
}

// All ranks of one pipeline.
class PipelineWalk {
 public:
  explicit PipelineWalk(const std::vector<int>& rank_of_stage, int ranks)
      : ranks_(static_cast<std::size_t>(ranks)),
        chunk_of_stage_(give_stages(rank_of_stage, ranks_)) {
    walks_.reserve(ranks_.size());
    for (RankLiveness& rank : ranks_) walks_.emplace_back(rank);
  }

  void step(ActionKind kind, int rank, std::size_t stage) {
    walks_[static_cast<std::size_t>(rank)].step(kind, chunk_of_stage_[stage]);
  }

  void overlap(int rank, std::size_t forward_stage, std::size_t backward_stage) {
    walks_[static_cast<std::size_t>(rank)].overlap(chunk_of_stage_[forward_stage],
                                                   chunk_of_stage_[backward_stage]);
  }

  std::vector<RankLiveness> finish() {
    for (RankWalk& walk : walks_) walk.finish();
    return std::move(ranks_);
  }

 private:
  std::vector<RankLiveness> ranks_;
  std::vector<std::size_t> chunk_of_stage_;
  std::vector<RankWalk> walks_;
};

// One rank's list, block by block.
class BlockWalk {
 public:
  BlockWalk(const Schedule& schedule, const std::vector<std::size_t>& chunk_of_stage, int rank,
            RankLiveness& result)
      : schedule_(schedule),
        chunk_of_stage_(chunk_of_stage),
        rank_(rank),
        result_(result),
        walk_(result) {}

  void run() {
    const auto r = static_cast<std::size_t>(rank_);
    for (std::size_t b = schedule_.begin[r]; b < schedule_.begin[r + 1]; ++b) {
      repeat(schedule_.blocks[b]);
    }
    walk_.finish();
  }

 private:
  // Where no count falls over a repetition, all counts of the last one cover those of the others;
  // where none rises, those of the first do.
  void repeat(const ScheduleBlock& block) {
    if (block.repeat == 0) return;
    const RankWalk::Change change = block.repeat > 1 ? change_of(block) : RankWalk::Change{};
    const bool mixed = change.rises && change.falls;
    if (change.rises && !mixed) walk_.skip(change, block.repeat - 1);
    for (std::uint32_t n = mixed ? block.repeat : 1; n > 0; --n) once(block);
    if (!change.rises) walk_.skip(change, block.repeat - 1);
  }
  void once(const ScheduleBlock& block) {
    for (std::uint32_t at = block.begin; at < block.end; ++at) {
      const ComputeAction& action = schedule_.actions[at];
      const std::size_t chunk = chunk_of_stage_[action.stage.value];
      walk_.step(action.kind, chunk);
      if (!action.overlaps_next) continue;
      walk_.overlap(chunk, chunk_of_stage_[schedule_.actions[at + 1].stage.value]);
    }
  }
  [[nodiscard]] RankWalk::Change change_of(const ScheduleBlock& block) const {
    RankWalk::Change change;
    change.stash.assign(result_.stages.size(), 0);
    change.weight_stash.assign(result_.stages.size(), 0);
    for (std::uint32_t at = block.begin; at < block.end; ++at) {
      const ComputeAction& action = schedule_.actions[at];
      const std::size_t chunk = chunk_of_stage_[action.stage.value];
      const Holds& holds = rule_of(action.kind).holds;
      change.stash[chunk] += holds.stash;
      change.weight_stash[chunk] += holds.weight_stash;
    }
    for (const auto* counts : {&change.stash, &change.weight_stash}) {
      for (const std::int32_t count : *counts) {
        change.rises |= count > 0;
        change.falls |= count < 0;
      }
    }
    return change;
  }

  const Schedule& schedule_;
  const std::vector<std::size_t>& chunk_of_stage_;
  int rank_;
  RankLiveness& result_;
  RankWalk walk_;
};

// Sets the receives that wait, and who sends at all.
void note_transfers(const Schedule& schedule, const WaitingReceives& waiting,
                    std::vector<RankLiveness>& ranks) {
  const auto is_elsewhere = [&](int stage, int other) {
    return schedule.rank_of_stage[static_cast<std::size_t>(stage)] !=
           schedule.rank_of_stage[static_cast<std::size_t>(other)];
  };
  for (RankLiveness& rank : ranks) {
    const std::size_t chunks = rank.stages.size();
    rank.activation_receives.assign(chunks, 0);
    rank.gradient_receives.assign(chunks, 0);
    rank.sends_activation.assign(chunks, false);
    rank.sends_gradient.assign(chunks, false);
    for (std::size_t c = 0; c < chunks; ++c) {
      const int stage = rank.stages[c];
      const auto s = static_cast<std::size_t>(stage);
      rank.activation_receives[c] = waiting.activations[s];
      rank.gradient_receives[c] = waiting.gradients[s];
      rank.sends_activation[c] = schedule.has_next(stage) && is_elsewhere(stage, stage + 1);
      rank.sends_gradient[c] = schedule.has_previous(stage) && is_elsewhere(stage, stage - 1);
    }
  }
}

std::vector<RankLiveness> liveness_of(const Program& program, const Pipeline& pipeline) {
  const auto first = static_cast<std::size_t>(pipeline.first_stage);
  const auto stages = static_cast<std::size_t>(pipeline.stages);
  std::vector<int> rank_of_stage;
  rank_of_stage.reserve(stages);
  for (std::size_t s = 0; s < stages; ++s) {
    rank_of_stage.push_back(program.stages[first + s].rank.value - pipeline.first_rank);
  }
  PipelineWalk walk(rank_of_stage, pipeline.ranks);
  for (std::size_t i = 0; i < program.actions.size(); ++i) {
    const Action& action = program.actions[i];
    const std::size_t stage = action.stage.value - first;  // wraps for stages before
    if (stage >= stages) continue;
    const int rank = program.rank_of(action).value - pipeline.first_rank;
    walk.step(action.kind, rank, stage);
    if (!action.overlaps_next) continue;
    walk.overlap(rank, stage, program.actions[i + 1].stage.value - first);
  }
  std::vector<RankLiveness> ranks = walk.finish();
  for (RankLiveness& rank : ranks) rank.weight_slots = pipeline.weight_slots;
  return ranks;
}

}  // namespace

std::vector<RankLiveness> liveness(const Program& program, int pipelines) {
  std::vector<RankLiveness> ranks;
  for (std::size_t p = 0; p < static_cast<std::size_t>(pipelines); ++p) {
    std::vector<RankLiveness> of_pipeline = liveness_of(program, program.pipelines.at(p));
    ranks.insert(ranks.end(), std::make_move_iterator(of_pipeline.begin()),
                 std::make_move_iterator(of_pipeline.end()));
  }
  return ranks;
}

std::vector<RankLiveness> liveness(const Schedule& schedule) {
  return liveness(schedule, waiting_receives(schedule));
}

std::vector<RankLiveness> liveness(const Schedule& schedule, const WaitingReceives& waiting) {
  std::vector<RankLiveness> ranks(static_cast<std::size_t>(schedule.ranks));
  const auto chunk_of_stage = give_stages(schedule.rank_of_stage, ranks);
  for (int r = 0; r < schedule.ranks; ++r) {
    BlockWalk(schedule, chunk_of_stage, r, ranks[static_cast<std::size_t>(r)]).run();
  }
  note_transfers(schedule, waiting, ranks);
  return ranks;
}

}  // namespace penstock
