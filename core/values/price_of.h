// What one execution of F, I, W, B or R takes by the prices of its stage and shape. The checker of
// plan files has its own, since it judges those who use this one.
#pragma once

#include "core/values/action_kind.h"
#include "core/values/stage_prices.h"

namespace penstock {

inline Duration price_of(const ComputePrice& price, ActionKind kind) {
  switch (kind) {
    case ActionKind::kForward:
      return price.forward.duration;
    case ActionKind::kInputGradient:
      return price.input_gradient.duration;
    case ActionKind::kWeightGradient:
      return price.weight_gradient.duration;
    case ActionKind::kFusedBackward:
      return price.fused_backward.duration;
    default:
      return price.recompute.duration;
  }
}

}  // namespace penstock
