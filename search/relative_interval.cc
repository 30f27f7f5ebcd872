#include "search/relative_interval.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "search/calibrated_interval.h"

namespace penstock {
namespace {

// Nine of ten measured ratios of published runs lie within this of the predicted ratio where two
// runs of a model on one machine differ in nothing but replicas and micro-batches, and what other
// choices add to it, in quadrature: docs/accuracy.md, "Ratios". Of recompute, ZeRO-1 and placement
// no pairs are known; they are taken to be like the micro-batch size.
constexpr double kAlike = 0.04;
constexpr double kSchedule = 0.085;
constexpr double kMicroBatchSize = 0.05;
constexpr double kPipeline = 0.08;
constexpr double kTensor = 0.05;
constexpr double kOtherChoice = 0.05;

double square(double value) { return value * value; }

double by_differences(const Plan& a, const Plan& b) {
  double sum = square(kAlike);
  if (a.schedule != b.schedule || a.chunks != b.chunks) sum += square(kSchedule);
  if (a.micro_batch_size != b.micro_batch_size) sum += square(kMicroBatchSize);
  if (a.pipeline != b.pipeline) sum += square(kPipeline);
  if (a.tensor != b.tensor) sum += square(kTensor);
  if (a.recompute != b.recompute) sum += square(kOtherChoice);
  if (a.zero1 != b.zero1 || a.placement != b.placement) sum += square(kOtherChoice);
  return std::sqrt(sum);
}

double wider_side(const Evaluation& evaluation) {
  const auto step = static_cast<double>(evaluation.step_time.count());
  const Duration side = std::max(evaluation.step_time_high - evaluation.step_time,
                                 evaluation.step_time - evaluation.step_time_low);
  return step > 0.0 ? static_cast<double>(side.count()) / step : 0.0;
}

// What the runs leave open of the terms, as far as the plans answer to them differently.
double variance_of_difference(const Posterior& posterior, const RankedPlan& a,
                              const RankedPlan& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < kStepTerms; ++i) {
    for (std::size_t j = 0; j < kStepTerms; ++j) {
      sum += (a.log_slopes[i] - b.log_slopes[i]) * posterior.covariance[i * kStepTerms + j] *
             (a.log_slopes[j] - b.log_slopes[j]);
    }
  }
  return std::max(sum, 0.0);
}

}  // namespace

double relative_half_width(const PlanInputs& inputs, const RankedPlan& a, const RankedPlan& b) {
  if (a.plan == b.plan) return 0.0;
  if (a.plan.device_types() != b.plan.device_types()) {  // nothing of the machine cancels
    return std::sqrt(square(wider_side(a.evaluation)) + square(wider_side(b.evaluation)));
  }
  const double width = by_differences(a.plan, b.plan);
  const auto& calibration = inputs.cluster->calibration;
  if (a.log_slopes.empty() || b.log_slopes.empty() || !calibration || !calibration->posterior) {
    return width;
  }
  // Runs make it narrower where they say what the plans differ in, never wider.
  const Posterior& posterior = *calibration->posterior;
  const double terms =
      nine_of_ten(posterior.degrees) * std::sqrt(variance_of_difference(posterior, a, b));
  return std::min(width, std::sqrt(square(kAlike) + square(terms)));
}

void compare_with_best(const PlanInputs& inputs, std::vector<RankedPlan>& plans) {
  for (RankedPlan& plan : plans) {
    const RankedPlan& best = plans.front();
    plan.against_best = relative_half_width(inputs, plan, best);
    const Duration behind = plan.evaluation.step_time - best.evaluation.step_time;
    plan.tied_with_best =
        &plan != &best && behind <= scaled(best.evaluation.step_time, plan.against_best);
  }
}

}  // namespace penstock
