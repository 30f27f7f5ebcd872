#include "simulator/liveness.h"

#include <algorithm>
#include <functional>
#include <tuple>

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

  void finish() {
    record();
    for (Peak& peak : peaks_) result_.peaks.push_back(std::move(peak.counts));
    std::sort(result_.overlaps.begin(), result_.overlaps.end());
  }

  void overlap(std::size_t forward_chunk, std::size_t backward_chunk) {
    const std::pair pair(forward_chunk, backward_chunk);
    auto& pairs = result_.overlaps;
    if (std::find(pairs.begin(), pairs.end(), pair) == pairs.end()) pairs.push_back(pair);
  }

  void step(ActionKind kind, std::size_t chunk) {
    switch (kind) {
      case ActionKind::kForward:
        change(now_.stash, packed_.stash, chunk, +1);
        has_grown_ = true;
        count_chunks(+1);
        consume(activations_waiting_[chunk]);
        break;
      case ActionKind::kFusedBackward:
        record();
        change(now_.stash, packed_.stash, chunk, -1);
        count_chunks(-1);
        consume(gradients_waiting_[chunk]);
        break;
      case ActionKind::kInputGradient:
        record();
        change(now_.stash, packed_.stash, chunk, -1);
        change(now_.weight_stash, packed_.weight_stash, chunk, +1);
        has_grown_ = true;
        consume(gradients_waiting_[chunk]);
        break;
      case ActionKind::kWeightGradient:
        record();
        change(now_.weight_stash, packed_.weight_stash, chunk, -1);
        count_chunks(-1);
        break;
      case ActionKind::kReceiveActivation:
        post(activations_waiting_[chunk], result_.activation_receives[chunk]);
        break;
      case ActionKind::kReceiveGradient:
        post(gradients_waiting_[chunk], result_.gradient_receives[chunk]);
        break;
      case ActionKind::kSendActivation:
        result_.sends_activation[chunk] = true;
        break;
      case ActionKind::kSendGradient:
        result_.sends_gradient[chunk] = true;
        break;
      default:
        break;
    }
  }

 private:
  void count_chunks(int change) {
    chunks_ += change;
    result_.peak_chunks = std::max(result_.peak_chunks, chunks_);
  }
  static void post(std::int32_t& waiting, std::int32_t& most) { most = std::max(most, ++waiting); }
  static void consume(std::int32_t& waiting) { waiting = std::max(0, waiting - 1); }

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
  };

  void change(std::vector<std::int32_t>& counts, std::uint64_t& packed, std::size_t chunk, int by) {
    counts[chunk] += by;
    packs_ = packs_ && chunk < kMostPacked && counts[chunk] <= kLargestPacked;
    if (packs_) packed += static_cast<std::uint64_t>(by) << (16 * chunk);
  }
  // No lane borrows from the next while its top bit is set.
  static bool covers(std::uint64_t a, std::uint64_t b) {
    return (((a | kTopBits) - b) & kTopBits) == kTopBits;
  }
  [[nodiscard]] bool covers(const Peak& a, const Peak& b) const {
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
    if (!packs_) current_.counts = now_;
    for (std::size_t i = 0; i < peaks_.size(); ++i) {
      if (covers(peaks_[i], current_)) {
        if (i > 0) std::swap(peaks_[i], peaks_[0]);
        return;
      }
    }
    std::erase_if(peaks_, [&](const Peak& peak) { return covers(current_, peak); });
    current_.counts = now_;
    peaks_.insert(peaks_.begin(), current_);
  }

  RankLiveness& result_;
  LiveCounts now_;
  Packed packed_;      // now_, while packs_
  bool packs_ = true;  // no count and no chunk has been too many
  Peak current_;
  std::vector<Peak> peaks_;
  bool has_grown_ = false;  // since the last record
  std::int64_t chunks_ = 0;
  std::vector<std::int32_t> activations_waiting_, gradients_waiting_;
};

// All ranks of one pipeline.
class PipelineWalk {
 public:
  explicit PipelineWalk(const std::vector<int>& rank_of_stage, int ranks)
      : ranks_(static_cast<std::size_t>(ranks)) {
    for (std::size_t s = 0; s < rank_of_stage.size(); ++s) {
      auto& stages = ranks_[static_cast<std::size_t>(rank_of_stage[s])].stages;
      chunk_of_stage_.push_back(stages.size());
      stages.push_back(static_cast<int>(s));
    }
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
    for (RankLiveness& rank : ranks_) {
      std::sort(rank.peaks.begin(), rank.peaks.end(), [](const auto& a, const auto& b) {
        return std::tie(a.stash, a.weight_stash) > std::tie(b.stash, b.weight_stash);
      });
    }
    return std::move(ranks_);
  }

 private:
  std::vector<RankLiveness> ranks_;
  std::vector<std::size_t> chunk_of_stage_;
  std::vector<RankWalk> walks_;
};

// The order in which eager lowering emits a schedule, without building a Program: rounds over the
// ranks, at most one action per rank, each send at once followed by its receive.
class EagerOrder {
 public:
  explicit EagerOrder(const Schedule& schedule)
      : schedule_(schedule),
        walk_(schedule.rank_of_stage, schedule.ranks),
        micro_batches_(static_cast<std::size_t>(schedule.micro_batches)),
        activation_here_(schedule.rank_of_stage.size() * micro_batches_, false),
        gradient_here_(activation_here_.size(), false) {
    for (int s = 0; s < schedule.stages(); s += schedule.stages_per_copy()) {
      const auto first = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(s) * micro_batches_);
      std::fill_n(activation_here_.begin() + first, micro_batches_, true);
    }
  }

  std::vector<RankLiveness> run() {
    std::vector<ListCursor> at;
    at.reserve(static_cast<std::size_t>(schedule_.ranks));
    for (int r = 0; r < schedule_.ranks; ++r) at.emplace_back(schedule_, r);
    for (bool progress = true; progress;) {
      progress = false;
      for (int r = 0; r < schedule_.ranks; ++r) {
        progress |= perform_head(at[static_cast<std::size_t>(r)], r);
      }
    }
    return walk_.finish();
  }

 private:
  bool perform_head(ListCursor& cursor, int rank) {
    if (cursor.done()) return false;
    const ComputeAction action = *cursor;
    if (!ready(action)) return false;
    const bool pair = action.overlaps_next;
    if (pair && !ready(cursor.second())) return false;
    walk_.step(action.kind, rank, action.stage.value);
    if (pair) {
      const std::size_t second = cursor.second().stage.value;
      walk_.step(ActionKind::kFusedBackward, rank, second);
      walk_.overlap(rank, action.stage.value, second);
    }
    hand_on(action, rank);
    if (pair) hand_on(*++cursor, rank);
    ++cursor;
    return true;
  }
  [[nodiscard]] bool ready(const ComputeAction& action) const {
    if (action.kind == ActionKind::kForward) return activation_here_[index(action)] != 0;
    return action.kind == ActionKind::kWeightGradient || gradient_here_[index(action)] != 0;
  }
  void hand_on(const ComputeAction& action, int rank) {
    const std::size_t stage = action.stage.value;
    if (action.kind == ActionKind::kForward) {
      if (!schedule_.has_next(action.stage.value)) {
        gradient_here_[index(action)] = 1;
      } else {
        activation_here_[index(action) + micro_batches_] = 1;
        send(ActionKind::kSendActivation, ActionKind::kReceiveActivation, rank, stage, stage + 1);
      }
    } else if (is_backward(action.kind) && schedule_.has_previous(action.stage.value)) {
      gradient_here_[index(action) - micro_batches_] = 1;
      send(ActionKind::kSendGradient, ActionKind::kReceiveGradient, rank, stage, stage - 1);
    }
  }
  void send(ActionKind send, ActionKind receive, int rank, std::size_t from, std::size_t to) {
    if (schedule_.rank_of_stage[to] == rank) return;
    walk_.step(send, rank, from);
    walk_.step(receive, schedule_.rank_of_stage[to], to);
  }
  [[nodiscard]] std::size_t index(const ComputeAction& action) const {
    return action.stage.value * micro_batches_ + action.micro_batch.value;
  }

  const Schedule& schedule_;
  PipelineWalk walk_;
  std::size_t micro_batches_;
  std::vector<std::uint8_t> activation_here_, gradient_here_;  // by (stage, micro-batch)
};

}  // namespace

std::vector<RankLiveness> liveness(const Program& program) {
  const Pipeline& pipeline = program.pipelines.at(0);
  std::vector<int> rank_of_stage;
  rank_of_stage.reserve(static_cast<std::size_t>(pipeline.stages));
  for (int s = 0; s < pipeline.stages; ++s) {
    rank_of_stage.push_back(program.stages[static_cast<std::size_t>(s)].rank.value);
  }
  PipelineWalk walk(rank_of_stage, pipeline.ranks);
  for (std::size_t i = 0; i < program.actions.size(); ++i) {
    const Action& action = program.actions[i];
    if (action.stage.value >= pipeline.stages) continue;
    const int rank = program.rank_of(action).value;
    walk.step(action.kind, rank, action.stage.value);
    if (!action.overlaps_next) continue;
    walk.overlap(rank, action.stage.value, program.actions[i + 1].stage.value);
  }
  return walk.finish();
}

std::vector<RankLiveness> liveness(const Schedule& schedule) { return EagerOrder(schedule).run(); }

}  // namespace penstock
