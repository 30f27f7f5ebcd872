#include "costmodel/hide_reductions.h"

#include <algorithm>

namespace penstock {
namespace {

// The bucket that is ready last has nothing to hide behind; nor has what takes longer than the
// compute beside it.
Duration shown(Duration whole, Duration beside, double bucket_share) {
  return std::max(scaled(whole, bucket_share), whole - beside);
}

// Megatron-LM's rule: its bucket holds for up to 40 replicas and grows with more, since every
// bucket costs a ring's steps (distributed_data_parallel.py: max(40e6, 1e6 per replica)).
constexpr double kReplicasOfBucket = 40.0;

double bucket_of(const TrainingState& training, int copies) {
  return static_cast<double>(training.bucket_parameters) *
         std::max(1.0, copies / kReplicasOfBucket);
}

// What follows on the links of a rank with several chunks: the excess over the compute of another.
Duration shown_between(Duration whole, Duration each, int count) {
  return std::max(Duration{}, whole - count * each);
}

Duration last_backward(const ComputePrice& price, bool splits_backward) {
  return splits_backward ? price.weight_gradient.duration : price.fused_backward.duration;
}

}  // namespace

double least_shown_of(const TrainingState& training, int copies, std::int64_t parameters) {
  if (training.bucket_parameters == 0 || parameters <= 0) return 1.0;
  return std::min(1.0, bucket_of(training, copies) / static_cast<double>(parameters));
}

void hide_reductions(const TrainingState& training, const BucketRule& rule,
                     const OuterShapes& shapes, const std::vector<std::int64_t>& parameters,
                     StagePrices& prices) {
  if (training.bucket_parameters == 0) return;
  for (int stage = 0; stage < prices.stages; ++stage) {
    StepPrice& step = prices.step[static_cast<std::size_t>(stage)];
    const std::int64_t of_stage = parameters[static_cast<std::size_t>(stage) % parameters.size()];
    if (of_stage <= 0) continue;
    const double share = least_shown_of(training, rule.copies, of_stage);
    const bool in_between = rule.beside_other_chunks > 0 && stage >= rule.ranks;
    const int beside = in_between ? stage - rule.ranks : stage;
    Duration backward = Duration::max(), forward = Duration::max();
    for (const int shape : shapes.last) {
      backward =
          std::min(backward, last_backward(prices.compute_of(beside, shape), rule.splits_backward));
    }
    for (const int shape : shapes.first) {
      forward = std::min(forward, prices.compute_of(beside, shape).forward.duration);
    }
    const auto visible = [&](Duration whole, Duration each) {
      return in_between ? shown_between(whole, each, rule.beside_other_chunks)
                        : shown(whole, each, share);
    };
    if (rule.hides_reductions) {
      step.reduce_gradient.duration = visible(step.reduce_gradient.duration, backward);
    }
    step.unshard.duration = visible(step.unshard.duration, forward);
  }
}

}  // namespace penstock
