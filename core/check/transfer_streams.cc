// If all lists are sub-sequences of one global order in which every send stands beside its receive,
// nothing can be stuck: the earliest transfer that is not done has all earlier ones behind it, so
// it heads both lists. The check does not look for that order; it plays the lists, which says the
// same and finds the place where there is none. What is removable stays so, so the order of removal
// does not matter.
#include "core/check/transfer_streams.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <tuple>

namespace penstock {
namespace {

class StreamPlay {
 public:
  StreamPlay(const TransferStreams& streams, int stages_per_copy)
      : streams_(streams), at_(streams.size(), 0), stages_per_copy_(stages_per_copy) {
    for (const auto& list : streams) {
      for (const StreamAction& action : list) {
        if (stages_per_copy == 0) {
          stages_per_copy_ = std::max(stages_per_copy_, action.stage + 1);
        }
      }
    }
  }

  std::string run() {
    for (bool progress = true; progress;) {
      progress = false;
      for (std::size_t r = 0; r < streams_.size(); ++r) {
        while (!ended(r) && remove_head(r)) progress = true;
      }
    }
    for (std::size_t r = 0; r < streams_.size(); ++r) {
      if (!ended(r)) return stuck_at(r);
    }
    return {};
  }

 private:
  using Key = std::tuple<ActionKind, int, int>;

  [[nodiscard]] bool ended(std::size_t rank) const { return at_[rank] == streams_[rank].size(); }
  [[nodiscard]] const StreamAction& head(std::size_t rank) const {
    return streams_[rank][at_[rank]];
  }
  [[nodiscard]] bool has_rank(int rank) const {
    return rank >= 0 && static_cast<std::size_t>(rank) < streams_.size();
  }

  bool remove_head(std::size_t rank) {
    const StreamAction& action = head(rank);
    if (is_receive(action.kind)) return false;  // its sender removes both
    if (!is_ready(action)) return false;
    if (is_send(action.kind)) {
      if (!has_rank(action.peer)) return false;
      const auto peer = static_cast<std::size_t>(action.peer);
      if (peer == rank || ended(peer) || !matches(action, rank, head(peer))) return false;
      take(peer);
    }
    take(rank);
    return true;
  }
  void take(std::size_t rank) {
    const StreamAction& action = head(rank);
    done_.insert({action.kind, action.stage, action.micro_batch});
    ++at_[rank];
  }

  [[nodiscard]] static bool matches(const StreamAction& send, std::size_t sender,
                                    const StreamAction& receive) {
    const bool activation = send.kind == ActionKind::kSendActivation;
    const ActionKind other =
        activation ? ActionKind::kReceiveActivation : ActionKind::kReceiveGradient;
    return receive.kind == other && receive.peer == static_cast<int>(sender) &&
           receive.stage == send.stage + (activation ? 1 : -1) &&
           receive.micro_batch == send.micro_batch && receive.shape == send.shape;
  }

  [[nodiscard]] bool is_done(ActionKind kind, int stage, int m) const {
    return done_.contains({kind, stage, m});
  }
  [[nodiscard]] bool has_gone_back(int stage, int m) const {
    return is_done(ActionKind::kFusedBackward, stage, m) ||
           is_done(ActionKind::kInputGradient, stage, m);
  }
  // From the stage beside it: received, or made on the same rank (then no list has a receive).
  [[nodiscard]] bool has_activation(int stage, int m) const {
    return stage % stages_per_copy_ == 0 || is_done(ActionKind::kReceiveActivation, stage, m) ||
           (!is_received(ActionKind::kReceiveActivation, stage, m) &&
            is_done(ActionKind::kForward, stage - 1, m));
  }
  [[nodiscard]] bool has_gradient(int stage, int m) const {
    if (!is_done(ActionKind::kForward, stage, m)) return false;
    return (stage + 1) % stages_per_copy_ == 0 || is_done(ActionKind::kReceiveGradient, stage, m) ||
           (!is_received(ActionKind::kReceiveGradient, stage, m) && has_gone_back(stage + 1, m));
  }
  [[nodiscard]] bool is_received(ActionKind kind, int stage, int m) const {
    if (received_.empty()) {
      for (const auto& list : streams_) {
        for (const StreamAction& action : list) {
          if (is_receive(action.kind)) {
            received_.insert({action.kind, action.stage, action.micro_batch});
          }
        }
      }
    }
    return received_.contains({kind, stage, m});
  }

  [[nodiscard]] bool is_ready(const StreamAction& action) const {
    const int s = action.stage, m = action.micro_batch;
    switch (action.kind) {
      case ActionKind::kForward:
        return has_activation(s, m);
      case ActionKind::kFusedBackward:
      case ActionKind::kInputGradient:
      case ActionKind::kRecompute:
        return has_gradient(s, m);
      case ActionKind::kWeightGradient:
        return is_done(ActionKind::kInputGradient, s, m);
      case ActionKind::kSendActivation:
        return is_done(ActionKind::kForward, s, m);
      case ActionKind::kSendGradient:
        return has_gone_back(s, m);
      default:
        return true;
    }
  }

  [[nodiscard]] std::string words_of(std::size_t rank) const {
    const std::string name = "rank " + std::to_string(rank);
    if (ended(rank)) return name + " has ended";
    const StreamAction& action = head(rank);
    std::string words = name + " is at " + std::to_string(action.stage) +
                        std::string(name_of(action.kind)) + std::to_string(action.micro_batch);
    if (action.peer < 0) return words;
    words += is_send(action.kind) ? " to rank " : " from rank ";
    words += std::to_string(action.peer) + " (" + std::to_string(action.shape.samples) + " x " +
             std::to_string(action.shape.tokens);
    if (action.shape.decoder_tokens > 0) {
      words += " + " + std::to_string(action.shape.decoder_tokens);
    }
    return words + ")";
  }

  [[nodiscard]] std::string stuck_at(std::size_t rank) const {
    const StreamAction& action = head(rank);
    if (action.peer >= 0 && !has_rank(action.peer)) {
      return words_of(rank) + ", but there is no such rank";
    }
    if (action.peer >= 0 && (is_receive(action.kind) || is_ready(action))) {
      return words_of(rank) + ", " + words_of(static_cast<std::size_t>(action.peer));
    }
    // Compute, or a send of what is not made: whoever else is stuck.
    for (std::size_t other = 0; other < streams_.size(); ++other) {
      if (other != rank && !ended(other)) {
        return words_of(rank) + " without its input, " + words_of(other);
      }
    }
    return words_of(rank) + " without its input, and all other ranks have ended";
  }

  const TransferStreams& streams_;
  std::vector<std::size_t> at_;
  int stages_per_copy_;
  std::set<Key> done_;
  mutable std::set<Key> received_;
};

}  // namespace

TransferStreams streams_of(const Program& program) {
  TransferStreams streams(static_cast<std::size_t>(program.ranks()));
  for (const Action& action : program.actions) {
    if (!has_micro_batch(action.kind)) continue;
    StreamAction streamed;
    streamed.kind = action.kind;
    streamed.stage = action.stage.value;
    streamed.micro_batch = static_cast<int>(action.micro_batch.value);
    const Stage& stage = program.stages[action.stage.value];
    if (is_send(action.kind) || is_receive(action.kind)) {
      const bool ahead =
          action.kind == ActionKind::kSendActivation || action.kind == ActionKind::kReceiveGradient;
      const StageId beside = ahead ? stage.next : stage.previous;
      if (beside != kNoStage) streamed.peer = program.stages[beside.value].rank.value;
      const MicroBatch& micro_batch = program.micro_batches[action.micro_batch.value];
      streamed.shape = {micro_batch.samples, micro_batch.sequence_length, 0};
    }
    streams[static_cast<std::size_t>(stage.rank.value)].push_back(streamed);
  }
  return streams;
}

std::string why_stuck(const TransferStreams& streams, int stages_per_copy) {
  return StreamPlay(streams, stages_per_copy).run();
}

}  // namespace penstock
