#include "search/relative_interval.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/values/sharding.h"

namespace penstock {
namespace {

// Nine of ten measured ratios of published runs lie within this of the predicted ratio where two
// runs of a model on one machine differ in nothing but replicas and micro-batches, and what other
// choices add to it, in quadrature: docs/accuracy.md, "Ratios". Of recompute, sharding and
// placement no pairs are known; they are taken to be like the micro-batch size.
constexpr double kAlike = 0.04;
constexpr double kSchedule = 0.085;
constexpr double kMicroBatchSize = 0.05;
constexpr double kPipeline = 0.10;
constexpr double kTensor = 0.05;
constexpr double kOtherChoice = 0.05;

double square(double value) { return value * value; }

double by_differences(const Plan& a, const Plan& b) {
  double sum = square(kAlike);
  if (a.schedule != b.schedule || a.chunks != b.chunks) sum += square(kSchedule);
  if (a.micro_batch_size != b.micro_batch_size) sum += square(kMicroBatchSize);
  if (a.pipeline != b.pipeline) sum += square(kPipeline);
  if (a.tensor != b.tensor) sum += square(kTensor);
  if (a.context != b.context || a.context_kind != b.context_kind) sum += square(kOtherChoice);
  if (a.expert != b.expert || a.expert_tensor != b.expert_tensor) sum += square(kOtherChoice);
  if (a.recompute != b.recompute) sum += square(kOtherChoice);
  const bool is_sharded_alike = sharding_of(a) == sharding_of(b);
  if (!is_sharded_alike || a.placement != b.placement) sum += square(kOtherChoice);
  return std::sqrt(sum);
}

double wider_side(const Evaluation& evaluation) {
  const auto step = static_cast<double>(evaluation.step_time.count());
  const Duration side = std::max(evaluation.step_time_high - evaluation.step_time,
                                 evaluation.step_time - evaluation.step_time_low);
  return step > 0.0 ? static_cast<double>(side.count()) / step : 0.0;
}

}  // namespace

double relative_half_width(const RankedPlan& a, const RankedPlan& b) {
  if (a.plan == b.plan) return 0.0;
  if (a.plan.device_types() == b.plan.device_types()) return by_differences(a.plan, b.plan);
  // Nothing of the machine cancels.
  return std::sqrt(square(wider_side(a.evaluation)) + square(wider_side(b.evaluation)));
}

void compare_with_best(std::vector<RankedPlan>& plans) {
  for (RankedPlan& plan : plans) {
    const RankedPlan& best = plans.front();
    plan.against_best = relative_half_width(plan, best);
    const Duration behind = plan.evaluation.step_time - best.evaluation.step_time;
    plan.tied_with_best =
        &plan != &best && behind <= scaled(best.evaluation.step_time, plan.against_best);
  }
}

}  // namespace penstock
