// Memory of micro-batches of different shapes, one rank's list from its first action to its last:
// what is held of every micro-batch is written down by its bytes, and the largest sum counts.
#include <algorithm>
#include <map>

#include "core/check/check_parts.h"

namespace penstock {
namespace {

// What is held for one thing or another, and the most of it.
struct Account {
  std::int64_t now = 0, most = 0;
  void take(std::int64_t bytes) { most = std::max(most, now = sum_of(now, bytes)); }
  void give(std::int64_t bytes) { now -= bytes; }
};

class PoolCheck {
 public:
  explicit PoolCheck(const PlanFile& file) : file_(file) {}

  Pools walk(const std::vector<Action>& list) {
    for (std::size_t at = 0; at < list.size(); ++at) {
      const Action& action = list[at];
      if (!has_micro_batch(action.kind)) continue;
      activations(action);
      transfers(action);
      if (is_send(action.kind) || is_receive(action.kind)) continue;
      std::int64_t working = price(action).working_peak.count;
      if (action.overlaps_next) working = sum_of(working, price(list[at + 1]).working_peak.count);
      pools_.working = std::max(pools_.working, working);
    }
    pools_.stash = stash_.most;
    // Beyond the list: receives among the four next transfers are posted before their place, and a
    // second send may be under way. Written out and not taken from transfer_room.h, which this
    // judges.
    add(product_of(4, largest_received_));
    for (const auto& [stage, account] : received_activations_) add(account.most);
    for (const auto& [stage, account] : received_gradients_) add(account.most);
    for (const auto& [stage, bytes] : sent_activations_) add(product_of(2, bytes));
    for (const auto& [stage, bytes] : sent_gradients_) add(product_of(2, bytes));
    return pools_;
  }

 private:
  void add(std::int64_t bytes) { pools_.communication = sum_of(pools_.communication, bytes); }

  [[nodiscard]] const ComputePrice& price(const Action& action, int stages_before = 0) const {
    const int shape = file_.program.micro_batches[action.micro_batch.value].shape;
    return file_.prices.compute_of(index_in_pipeline(file_.program, action.stage) - stages_before,
                                   shape);
  }

  // F keeps its stash until B or I ends; what I leaves is kept until W ends.
  void activations(const Action& action) {
    const ComputePrice& bytes = price(action);
    switch (action.kind) {
      case ActionKind::kForward:
        stash_.take(bytes.stash.count);
        break;
      case ActionKind::kFusedBackward:
        stash_.give(bytes.stash.count);
        break;
      case ActionKind::kInputGradient:
        stash_.give(bytes.stash.count);
        stash_.take(bytes.weight_stash.count);
        break;
      case ActionKind::kWeightGradient:
        stash_.give(bytes.weight_stash.count);
        break;
      default:
        break;
    }
  }

  // A received tensor is kept from its RECV until its consumer has run.
  void transfers(const Action& action) {
    const StageId stage = action.stage;
    if (action.kind == ActionKind::kReceiveActivation) {
      received_activations_[stage].take(price(action, 1).boundary.count);
      largest_received_ = std::max(largest_received_, price(action, 1).boundary.count);
    } else if (action.kind == ActionKind::kReceiveGradient) {
      received_gradients_[stage].take(price(action).boundary.count);
      largest_received_ = std::max(largest_received_, price(action).boundary.count);
    } else if (action.kind == ActionKind::kSendActivation) {
      std::int64_t& most = sent_activations_[stage];
      most = std::max(most, price(action).boundary.count);
    } else if (action.kind == ActionKind::kSendGradient) {
      std::int64_t& most = sent_gradients_[stage];
      most = std::max(most, price(action, 1).boundary.count);
    } else if (action.kind == ActionKind::kForward && received_activations_.contains(stage)) {
      received_activations_[stage].give(price(action, 1).boundary.count);
    } else if (is_backward(action.kind) && received_gradients_.contains(stage)) {
      received_gradients_[stage].give(price(action).boundary.count);
    }
  }

  const PlanFile& file_;
  Pools pools_;
  Account stash_;
  std::int64_t largest_received_ = 0;
  std::map<StageId, Account> received_activations_, received_gradients_;
  std::map<StageId, std::int64_t> sent_activations_, sent_gradients_;
};

}  // namespace

Pools pools_of(const PlanFile& file, const std::vector<Action>& list) {
  return PoolCheck(file).walk(list);
}

}  // namespace penstock
