// A walk over the schedule as eager lowering emits it, with counters in place of a Program.
// Invariant: what a stage has received and not yet consumed is the counter of its boundary; the
// largest value of each is what buffers must hold.
#include "simulator/waiting_receives.h"

#include <algorithm>

namespace penstock {
namespace {

// The order in which eager lowering emits a schedule, without building a Program: rounds over the
// ranks, at most one action per rank, each send at once followed by its receive.
class EagerOrder {
 public:
  explicit EagerOrder(const Schedule& schedule)
      : schedule_(schedule),
        micro_batches_(static_cast<std::size_t>(schedule.micro_batches)),
        activation_here_(schedule.rank_of_stage.size() * micro_batches_, false),
        gradient_here_(activation_here_.size(), false),
        activations_(schedule.rank_of_stage.size()),
        gradients_(schedule.rank_of_stage.size()) {
    for (int s = 0; s < schedule.stages(); s += schedule.stages_per_copy()) {
      const auto first = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(s) * micro_batches_);
      std::fill_n(activation_here_.begin() + first, micro_batches_, true);
    }
  }

  WaitingReceives run() {
    std::vector<ListCursor> at;
    at.reserve(static_cast<std::size_t>(schedule_.ranks));
    for (int r = 0; r < schedule_.ranks; ++r) at.emplace_back(schedule_, r);
    for (bool progress = true; progress;) {
      progress = false;
      for (ListCursor& cursor : at) progress |= perform_head(cursor);
    }
    WaitingReceives most;
    for (std::size_t s = 0; s < activations_.size(); ++s) {
      most.activations.push_back(activations_[s].most);
      most.gradients.push_back(gradients_[s].most);
    }
    return most;
  }

 private:
  struct Waiting {
    std::int32_t now = 0, most = 0;
    void post() { most = std::max(most, ++now); }
    void consume() { now = std::max(0, now - 1); }
  };

  bool perform_head(ListCursor& cursor) {
    if (cursor.done()) return false;
    const ComputeAction action = *cursor;
    if (!ready(action)) return false;
    const bool pair = action.overlaps_next;
    if (pair && !ready(cursor.second())) return false;
    consume(action);
    if (pair) consume(cursor.second());
    hand_on(action);
    if (pair) hand_on(*++cursor);
    ++cursor;
    return true;
  }
  [[nodiscard]] bool ready(const ComputeAction& action) const {
    if (action.kind == ActionKind::kForward) return activation_here_[index(action)] != 0;
    return action.kind == ActionKind::kWeightGradient || gradient_here_[index(action)] != 0;
  }
  void consume(const ComputeAction& action) {
    if (action.kind == ActionKind::kForward) activations_[action.stage.value].consume();
    if (is_backward(action.kind)) gradients_[action.stage.value].consume();
  }
  void hand_on(const ComputeAction& action) {
    const std::size_t stage = action.stage.value;
    if (action.kind == ActionKind::kForward) {
      if (!schedule_.has_next(action.stage.value)) {
        gradient_here_[index(action)] = 1;
      } else {
        activation_here_[index(action) + micro_batches_] = 1;
        if (crosses(stage, stage + 1)) activations_[stage + 1].post();
      }
    } else if (is_backward(action.kind) && schedule_.has_previous(action.stage.value)) {
      gradient_here_[index(action) - micro_batches_] = 1;
      if (crosses(stage, stage - 1)) gradients_[stage - 1].post();
    }
  }
  [[nodiscard]] bool crosses(std::size_t from, std::size_t to) const {
    return schedule_.rank_of_stage[from] != schedule_.rank_of_stage[to];
  }
  [[nodiscard]] std::size_t index(const ComputeAction& action) const {
    return action.stage.value * micro_batches_ + action.micro_batch.value;
  }

  const Schedule& schedule_;
  std::size_t micro_batches_;
  std::vector<std::uint8_t> activation_here_, gradient_here_;  // by (stage, micro-batch)
  std::vector<Waiting> activations_, gradients_;               // by stage
};

}  // namespace

WaitingReceives waiting_receives(const Schedule& schedule) { return EagerOrder(schedule).run(); }

}  // namespace penstock
