// First order: the step is replayed with every term moved a little, which gives its sensitivity;
// with the covariance of the fit that is a variance of the logarithm of the step. To it are added
// the scatter of single runs and, for what this plan has and no run had (schedule, tensor degree,
// model), assumed deviations. The interval holds nine of ten by Student's distribution with the
// posterior's degrees of freedom.
//
// Replays are exact, so differences are not noise; steps of a term are large enough (kMore) that
// rounding to nanoseconds does not show.
#include "search/calibrated_interval.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "costmodel/calibrated_profile.h"
#include "search/reprice.h"

namespace penstock {
namespace {

// Assumptions, as standard deviations: how much schedules and tensor degrees differ from each other
// after calibration, as kOtherModel says of models.
constexpr double kOtherSchedule = 0.04;
constexpr double kOtherTensorDegree = 0.04;

double ns(Duration duration) { return static_cast<double>(duration.count()); }

// The step with one term a little larger, and by how much the term was; in units of the covariance.
struct Moved {
  Duration step{};
  double by = 0.0;
};

class Gradient {
 public:
  Gradient(const PlanInputs& inputs, const EvaluatedPlan& evaluated)
      : inputs_(inputs), evaluated_(evaluated), step_(ns(evaluated.evaluation.step_time)) {}

  // Of the logarithm of the step time.
  [[nodiscard]] std::array<double, kStepTerms> of_log() const {
    std::array<double, kStepTerms> slopes{};
    for (std::size_t t = 0; t < kStepTerms; ++t) {
      const Moved moved = moved_by(t);
      slopes[t] = (ns(moved.step) - step_) / (moved.by * step_);
    }
    return slopes;
  }

 private:
  // Factors of times: the profile has them inside already, so that a hundredth more of it is as
  // much of the factor.
  [[nodiscard]] Moved with_times(double compute, double small_kernels, double factor) const {
    Calibration more = *inputs_.cluster->calibration;
    more.factors = {};
    more.factors.compute = compute;
    more.factors.small_kernels = small_kernels;
    more.memory = {};
    const ModelProfile profile = calibrated_profile(*inputs_.profile, more);
    return {repriced_step(evaluated_, profile, *inputs_.cluster, inputs_.executor),
            0.01 * std::max(factor, 1e-3)};
  }

  [[nodiscard]] Moved with_executor(Duration ExecutorModel::*cost) const {
    constexpr Duration kMore{100'000};
    ExecutorModel executor = inputs_.executor;
    executor.*cost += kMore;
    return {repriced_step(evaluated_, *inputs_.profile, *inputs_.cluster, executor), ns(kMore)};
  }

  [[nodiscard]] Moved with_transfers() const {
    constexpr double kMore = 0.05;
    ClusterSpec cluster = *inputs_.cluster;
    cluster.calibration->factors.transfer += kMore;
    return {repriced_step(evaluated_, *inputs_.profile, cluster, inputs_.executor), kMore};
  }

  [[nodiscard]] Moved moved_by(std::size_t term) const {
    const PriceFactors& factors = inputs_.cluster->calibration->factors;
    switch (term) {
      case 0:
        return with_times(1.01, 1.0, factors.compute);
      case 1:
        return with_times(1.0, 1.01, factors.small_kernels);
      case 2:
        return with_executor(&ExecutorModel::per_step);
      case 3:
        return with_executor(&ExecutorModel::per_action);
      case 4:
        return with_executor(&ExecutorModel::per_transfer);
      default:
        return with_transfers();
    }
  }

  const PlanInputs& inputs_;
  const EvaluatedPlan& evaluated_;
  double step_;
};

double variance_of(const std::vector<double>& covariance,
                   const std::array<double, kStepTerms>& slopes) {
  double sum = 0.0;
  for (std::size_t i = 0; i < kStepTerms; ++i) {
    for (std::size_t j = 0; j < kStepTerms; ++j) {
      sum += slopes[i] * covariance[i * kStepTerms + j] * slopes[j];
    }
  }
  return std::max(sum, 0.0);
}

template <class Same>
bool any_run(const Posterior& posterior, Same same) {
  return std::any_of(posterior.fitted_on.begin(), posterior.fitted_on.end(), same);
}

// What no run had. Adds to the variance, and says so.
double variance_of_news(const Posterior& posterior, const std::string& model, const Plan& plan,
                        std::vector<std::string>& notes) {
  double variance = 0.0;
  const auto widen = [&](double deviation, std::string what) {
    variance += deviation * deviation;
    notes.push_back("interval widened: no run was of " + std::move(what));
  };
  if (!any_run(posterior, [&](const CalibratedOn& on) { return on.profile == model; })) {
    widen(kOtherModel, model);
  }
  if (!any_run(posterior, [&](const CalibratedOn& on) {
        return on.schedule == plan.schedule || plan.pipeline == 1;
      })) {
    widen(kOtherSchedule, "schedule " + plan.schedule);
  }
  if (!any_run(posterior, [&](const CalibratedOn& on) { return on.tensor == plan.tensor; })) {
    widen(kOtherTensorDegree, "T = " + std::to_string(plan.tensor));
  }
  return variance;
}

}  // namespace

// Cornish and Fisher's expansion around 1.645, within 0.3 % from three degrees on.
double nine_of_ten(int degrees) {
  const double n = std::max(degrees, 3);
  return 1.645 + 1.524 / n + 1.42 / (n * n) + 0.86 / (n * n * n);
}

std::optional<CalibratedInterval> calibrated_interval(const PlanInputs& inputs,
                                                      const EvaluatedPlan& evaluated) {
  const Plan& plan = evaluated.plan;
  const auto& calibration = inputs.cluster->calibration;
  if (!calibration || !calibration->posterior || evaluated.evaluation.step_time <= Duration{}) {
    return {};
  }
  for (const std::string& type : plan.device_types()) {
    if (type != calibration->device) return {};
  }
  const Posterior& posterior = *calibration->posterior;
  CalibratedInterval interval;
  double variance = posterior.run_to_run * posterior.run_to_run;
  variance += variance_of(posterior.covariance, Gradient(inputs, evaluated).of_log());
  variance += variance_of_news(posterior, inputs.profile->name, plan, interval.notes);
  interval.half_width = nine_of_ten(posterior.degrees) * std::sqrt(variance);
  return interval;
}

}  // namespace penstock
