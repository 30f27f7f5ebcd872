#include "tests/simulator/by_the_rules.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace penstock::testing {
namespace {

// Sweeps over the lists until every action has run, start = max(end of the one before, arrivals).
class Sweeps {
 public:
  Sweeps(const Schedule& schedule, const StagePrices& prices, const std::vector<int>& shapes)
      : schedule_(schedule),
        prices_(prices),
        shapes_(shapes),
        forward_(static_cast<std::size_t>(schedule.stages()) *
                 static_cast<std::size_t>(schedule.micro_batches)),
        backward_(forward_.size()) {
    for (int r = 0; r < schedule.ranks; ++r) ranks_.push_back({schedule.list(r), 0, 0});
  }

  Duration run() {
    for (bool progress = true; progress;) {
      progress = false;
      for (Rank& rank : ranks_) {
        if (rank.at < rank.list.size()) progress |= perform(rank);
      }
    }
    std::int64_t end = 0;
    for (const Rank& rank : ranks_) end = std::max(end, rank.free);
    return Duration{end};
  }

 private:
  using End = std::optional<std::int64_t>;
  struct Rank {
    std::vector<ComputeAction> list;
    std::size_t at;
    std::int64_t free;
  };

  bool perform(Rank& rank) {
    const ComputeAction& action = rank.list[rank.at];
    End ready = arrival(action);
    Duration duration = duration_of(action);
    if (action.overlaps_next) {
      const ComputeAction& second = rank.list[rank.at + 1];
      const End other = arrival(second);
      ready = ready && other ? End(std::max(*ready, *other)) : End();
      const Duration alone = duration_of(second);
      const Duration gain = prices_.compute_of(action.stage.value, shape_of(action)).overlap_gain;
      duration = std::max({duration, alone, duration + alone - gain});
    }
    if (!ready) return false;
    rank.free = std::max(rank.free, *ready) + duration.count();
    const std::size_t members = action.overlaps_next ? 2 : 1;
    for (std::size_t i = 0; i < members; ++i) note(rank.list[rank.at++], rank.free);
    return true;
  }

  void note(const ComputeAction& action, std::int64_t end) {
    if (action.kind == ActionKind::kForward) forward_[cell(action, 0)] = end;
    if (is_backward(action.kind)) backward_[cell(action, 0)] = end;
  }

  [[nodiscard]] int shape_of(const ComputeAction& action) const {
    return shapes_.empty() ? 0 : shapes_[action.micro_batch.value];
  }
  [[nodiscard]] Duration duration_of(const ComputeAction& action) const {
    const ComputePrice& price = prices_.compute_of(action.stage.value, shape_of(action));
    switch (action.kind) {
      case ActionKind::kForward:
        return price.forward.duration;
      case ActionKind::kInputGradient:
        return price.input_gradient.duration;
      case ActionKind::kWeightGradient:
        return price.weight_gradient.duration;
      case ActionKind::kRecompute:
        return price.recompute.duration;
      default:
        return price.fused_backward.duration;
    }
  }

  // When what the action needs is there; nothing while it is not.
  [[nodiscard]] End arrival(const ComputeAction& action) const {
    const int stage = action.stage.value;
    if (action.kind == ActionKind::kWeightGradient) return backward_[cell(action, 0)];
    if (action.kind == ActionKind::kForward) {
      if (!schedule_.has_previous(stage)) return 0;
      return over(stage - 1, stage, forward_[cell(action, -1)],
                  prices_.transfer_of(stage - 1, shape_of(action)).activation.duration);
    }
    if (!schedule_.has_next(stage)) return forward_[cell(action, 0)];
    return over(stage, stage + 1, backward_[cell(action, +1)],
                prices_.transfer_of(stage, shape_of(action)).gradient.duration);
  }
  [[nodiscard]] End over(int a, int b, End end, Duration transfer) const {
    const auto rank = [&](int s) { return schedule_.rank_of_stage[static_cast<std::size_t>(s)]; };
    if (end && rank(a) != rank(b)) *end += transfer.count();
    return end;
  }
  [[nodiscard]] std::size_t cell(const ComputeAction& action, int stages_on) const {
    const int stage = action.stage.value + stages_on;
    return static_cast<std::size_t>(stage) * static_cast<std::size_t>(schedule_.micro_batches) +
           action.micro_batch.value;
  }

  const Schedule& schedule_;
  const StagePrices& prices_;
  const std::vector<int>& shapes_;
  std::vector<End> forward_, backward_;  // by (stage, micro-batch)
  std::vector<Rank> ranks_;
};

}  // namespace

Duration by_the_rules(const Schedule& schedule, const StagePrices& prices,
                      const std::vector<int>& shapes) {
  return Sweeps(schedule, prices, shapes).run();
}

}  // namespace penstock::testing
