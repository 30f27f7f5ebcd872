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

// Walks one rank's list. Counts only grow at F and at I, so the peaks lie there.
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

  void step(ActionKind kind, std::size_t chunk) {
    switch (kind) {
      case ActionKind::kForward:
        ++now_.stash[chunk];
        count_chunks(+1);
        record();
        consume(activations_waiting_[chunk]);
        break;
      case ActionKind::kFusedBackward:
        --now_.stash[chunk];
        count_chunks(-1);
        consume(gradients_waiting_[chunk]);
        break;
      case ActionKind::kInputGradient:
        --now_.stash[chunk];
        ++now_.weight_stash[chunk];
        record();
        consume(gradients_waiting_[chunk]);
        break;
      case ActionKind::kWeightGradient:
        --now_.weight_stash[chunk];
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

  // Keeps only counts that no other position exceeds everywhere. In a steady state the last match
  // is found at once, so it is moved to the front.
  void record() {
    auto& peaks = result_.peaks;
    for (std::size_t i = 0; i < peaks.size(); ++i) {
      if (dominates(peaks[i], now_)) {
        if (i > 0) std::swap(peaks[i], peaks[0]);
        return;
      }
    }
    std::erase_if(peaks, [&](const LiveCounts& peak) { return dominates(now_, peak); });
    peaks.insert(peaks.begin(), now_);
  }

  RankLiveness& result_;
  LiveCounts now_;
  std::int64_t chunks_ = 0;
  std::vector<std::int32_t> activations_waiting_, gradients_waiting_;
};

}  // namespace

std::vector<RankLiveness> liveness(const Program& program) {
  const Pipeline& pipeline = program.pipelines.at(0);
  std::vector<RankLiveness> ranks(static_cast<std::size_t>(pipeline.ranks));
  std::vector<std::size_t> chunk_of_stage;
  for (int s = 0; s < pipeline.stages; ++s) {
    auto& stages =
        ranks[static_cast<std::size_t>(program.stages[static_cast<std::size_t>(s)].rank.value)]
            .stages;
    chunk_of_stage.push_back(stages.size());
    stages.push_back(s);
  }
  std::vector<RankWalk> walks;
  walks.reserve(ranks.size());
  for (RankLiveness& rank : ranks) walks.emplace_back(rank);
  for (const Action& action : program.actions) {
    if (action.stage.value >= pipeline.stages) continue;
    const auto rank = static_cast<std::size_t>(program.rank_of(action).value);
    walks[rank].step(action.kind, chunk_of_stage[action.stage.value]);
  }
  for (RankLiveness& rank : ranks) {
    std::sort(rank.peaks.begin(), rank.peaks.end(), [](const LiveCounts& a, const LiveCounts& b) {
      return std::tie(a.stash, a.weight_stash) > std::tie(b.stash, b.weight_stash);
    });
  }
  return ranks;
}

}  // namespace penstock
