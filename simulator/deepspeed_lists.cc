// Turns the compute lists of a schedule into lists with sends and receives, in the order of
// DeepSpeed's TrainSchedule (deepspeed/runtime/pipe/schedule.py): a receive stands before its
// compute, a send is held back to the next slot, and where the next slot receives from the same
// peer the receive goes first. That last rule is what lets two neighbours with blocking transfers
// exchange an activation and a gradient without waiting for each other for ever; receives_first()
// says when it applies.
#include <optional>
#include <utility>

#include "simulator/issue_lists.h"

namespace penstock {
namespace {

class DeepspeedOrder {
 public:
  DeepspeedOrder(const Schedule& schedule, bool transfers)
      : schedule_(schedule),
        transfers_(transfers),
        micro_batches_(static_cast<std::size_t>(schedule.micro_batches)) {
    note_positions();
  }

  std::vector<Issue> list_of(int rank) const {
    std::vector<Issue> list;
    std::optional<Issue> unsent, unreduced;
    const auto flush = [&] {
      if (unsent) list.push_back(*std::exchange(unsent, std::nullopt));
      if (unreduced) list.push_back(*std::exchange(unreduced, std::nullopt));
    };
    std::vector<int> left(schedule_.rank_of_stage.size(), schedule_.micro_batches_per_copy());
    for (const ComputeAction& action : schedule_.list(rank)) {
      const int stage = action.stage.value;
      const std::uint32_t m = action.micro_batch.value;
      const bool forward = action.kind == ActionKind::kForward;
      const bool backward = is_backward(action.kind);
      if (!backward || !unsent || !receives_first(stage, m, *unsent)) flush();
      if (forward && schedule_.has_previous(stage) && crosses(stage - 1, stage)) {
        list.push_back({ActionKind::kReceiveActivation, stage, m});
      }
      if (backward && schedule_.has_next(stage) && crosses(stage, stage + 1)) {
        list.push_back({ActionKind::kReceiveGradient, stage, m});
      }
      flush();
      list.push_back({action.kind, stage, m});
      if (forward && schedule_.has_next(stage) && crosses(stage, stage + 1)) {
        unsent = Issue{ActionKind::kSendActivation, stage, m};
      }
      if (backward && schedule_.has_previous(stage) && crosses(stage, stage - 1)) {
        unsent = Issue{ActionKind::kSendGradient, stage, m};
      }
      if (completes_gradient(action.kind) && --left[action.stage.value] == 0) {
        unreduced = Issue{ActionKind::kReduceGradient, stage};
      }
    }
    flush();
    return list;
  }

 private:
  // Whether the gradient of (stage, m) is received before an activation that was computed in the
  // step before is sent. 1F1B in its steady state does so. In general that is safe just when the
  // peer's backward does not come after the forward that the activation is for (GPipe; 1F1B with M
  // < P): DeepSpeed's slots are then apart, and the send leaves in between.
  [[nodiscard]] bool receives_first(int stage, std::uint32_t m, const Issue& unsent) const {
    if (unsent.kind != ActionKind::kSendActivation || !schedule_.has_next(stage)) return false;
    if (rank_of(stage + 1) != rank_of(unsent.stage + 1)) return false;
    return backward_at_[cell(stage + 1, m)] <
           forward_at_[cell(unsent.stage + 1, unsent.micro_batch)];
  }
  // Where each forward and backward stands in the list of its rank.
  void note_positions() {
    const std::size_t cells = schedule_.rank_of_stage.size() * micro_batches_;
    forward_at_.assign(cells, 0);
    backward_at_.assign(cells, 0);
    for (int rank = 0; rank < schedule_.ranks; ++rank) {
      std::size_t position = 0;
      for (ListCursor cursor(schedule_, rank); !cursor.done(); ++cursor, ++position) {
        const ComputeAction action = *cursor;
        const std::size_t at = cell(action.stage.value, action.micro_batch.value);
        if (action.kind == ActionKind::kForward) forward_at_[at] = position;
        if (is_backward(action.kind)) backward_at_[at] = position;
      }
    }
  }
  [[nodiscard]] std::size_t cell(int stage, std::uint32_t m) const {
    return static_cast<std::size_t>(stage) * micro_batches_ + m;
  }
  [[nodiscard]] int rank_of(int stage) const {
    return schedule_.rank_of_stage[static_cast<std::size_t>(stage)];
  }
  [[nodiscard]] bool crosses(int from, int to) const {
    return transfers_ && rank_of(from) != rank_of(to);
  }

  const Schedule& schedule_;
  bool transfers_;
  std::size_t micro_batches_;
  std::vector<std::size_t> forward_at_, backward_at_;  // by cell()
};

}  // namespace

std::vector<std::vector<Issue>> deepspeed_lists(const Schedule& schedule, bool transfers) {
  const DeepspeedOrder order(schedule, transfers);
  std::vector<std::vector<Issue>> lists;
  lists.reserve(static_cast<std::size_t>(schedule.ranks));
  for (int r = 0; r < schedule.ranks; ++r) lists.push_back(order.list_of(r));
  return lists;
}

}  // namespace penstock
