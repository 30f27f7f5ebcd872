#include "runtime_bridge/rank_order.h"

#include <algorithm>
#include <numeric>

#include "core/values/error.h"

namespace penstock {

RankOrder::RankOrder(const RankProgram& program) : actions_(program.actions), rule_(program.rule) {
  if (facts_of(rule_).waits_for_either) {
    throw_bad_input(
        "a rank cannot wait for whichever of two messages comes first, as the rule varuna-strict "
        "asks; plan with the schedule varuna or varuna-runtime");
  }
}

void RankOrder::begin() {
  order_.resize(actions_.size());
  std::iota(order_.begin(), order_.end(), 0);
}

void RankOrder::decide(std::size_t at, const std::function<bool(int receive)>& has_arrived) {
  if (rule_ == RunTimeRule::kNone) return;
  const auto action = [this](int index) { return actions_[static_cast<std::size_t>(index)]; };
  const RankAction next = action(order_[at]);
  if (next.kind != ActionKind::kRecompute || next.needs == kNone || has_arrived(next.needs)) return;
  const auto here = order_.begin() + static_cast<std::ptrdiff_t>(at);
  const auto forward = std::find_if(
      here, order_.end(), [&](int index) { return action(index).kind == ActionKind::kForward; });
  if (forward == order_.end()) return;
  // Its receive, if that is still to come, is posted when the forward waits for it.
  const auto after = forward + 1;
  const bool sends = after != order_.end() && action(*after).kind == ActionKind::kSendActivation;
  std::rotate(here, forward, sends ? after + 1 : after);
}

}  // namespace penstock
