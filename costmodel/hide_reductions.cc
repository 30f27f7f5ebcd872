#include "costmodel/hide_reductions.h"

#include <algorithm>

namespace penstock {
namespace {

// The bucket that is ready last has nothing to hide behind; nor has what takes longer than the
// compute beside it.
Duration shown(Duration whole, Duration beside, double bucket_share) {
  return std::max(scaled(whole, bucket_share), whole - beside);
}

Duration last_backward(const ComputePrice& price, bool splits_backward) {
  return splits_backward ? price.weight_gradient.duration : price.fused_backward.duration;
}

}  // namespace

void hide_reductions(const TrainingState& training, const BucketRule& rule,
                     const OuterShapes& shapes, const std::vector<std::int64_t>& parameters,
                     StagePrices& prices) {
  if (training.bucket_parameters == 0) return;
  for (int stage = 0; stage < prices.stages; ++stage) {
    StepPrice& step = prices.step[static_cast<std::size_t>(stage)];
    const auto of_stage =
        static_cast<double>(parameters[static_cast<std::size_t>(stage) % parameters.size()]);
    if (of_stage <= 0.0) continue;
    const double share = std::min(1.0, static_cast<double>(training.bucket_parameters) / of_stage);
    Duration backward = Duration::max(), forward = Duration::max();
    for (const int shape : shapes.last) {
      backward =
          std::min(backward, last_backward(prices.compute_of(stage, shape), rule.splits_backward));
    }
    for (const int shape : shapes.first) {
      forward = std::min(forward, prices.compute_of(stage, shape).forward.duration);
    }
    if (rule.hides_reductions) {
      step.reduce_gradient.duration = shown(step.reduce_gradient.duration, backward, share);
    }
    step.unshard.duration = shown(step.unshard.duration, forward, share);
  }
}

}  // namespace penstock
