#include "core/values/calibration.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

// Terms of the executor, not of the machine.
constexpr std::size_t kFirstOfExecutor = 2;

using Shift = std::array<double, kFirstOfExecutor>;

// How much a term of the executor is expected to move with the factors: its covariance with them
// times the inverse of theirs; only those that did move count.
double moves_with(const std::vector<double>& covariance, std::size_t term, const Shift& shift) {
  const auto at = [&](std::size_t i, std::size_t j) { return covariance[i * kStepTerms + j]; };
  if (shift[0] == 0.0 || shift[1] == 0.0) {
    const std::size_t moved = shift[0] == 0.0 ? 1 : 0;
    return at(moved, moved) > 0.0 ? at(term, moved) / at(moved, moved) * shift[moved] : 0.0;
  }
  const double determinant = at(0, 0) * at(1, 1) - at(0, 1) * at(1, 0);
  if (determinant <= 0.0) return 0.0;
  const double first = (at(1, 1) * shift[0] - at(0, 1) * shift[1]) / determinant;
  const double second = (at(0, 0) * shift[1] - at(1, 0) * shift[0]) / determinant;
  return at(term, 0) * first + at(term, 1) * second;
}

// Six decimals, as files hold them.
double rounded(double value) { return std::floor(value * 1e6 + 0.5) / 1e6; }

// Fitted costs, given that the factors are other ones; what is neutral was not fitted and stays.
void move_executor_with(const Shift& shift, const Posterior& posterior, Calibration& calibration) {
  const auto move_time = [&](Duration& time, std::size_t term) {
    if (time == Duration{}) return;
    const double moved =
        static_cast<double>(time.count()) + moves_with(posterior.covariance, term, shift);
    time = round_up_to_ns(std::max(moved, 0.0) * 1e-9);
  };
  move_time(calibration.executor.per_step, 2);
  move_time(calibration.executor.per_action, 3);
  move_time(calibration.executor.per_transfer, 4);
  double& transfer = calibration.factors.transfer;
  if (transfer == 1.0) return;
  transfer = rounded(std::max(transfer + moves_with(posterior.covariance, 5, shift), 1.0));
}

}  // namespace

const std::array<double, kStepTerms>& prior_deviations(const ExecutorModel& executor) {
  static constexpr std::array<double, kStepTerms> kCompiled{0.3, 0.2, 10e6, 1e6, 0.5e6, 0.5};
  static constexpr std::array<double, kStepTerms> kInterpreted{0.3, 0.2, 10e6, 2e6, 0.5e6, 0.5};
  return executor.issue == IssueOrder::kDeepSpeed ? kInterpreted : kCompiled;
}

Calibration for_model(Calibration calibration, const std::string& model) {
  if (!calibration.posterior) return calibration;
  const Posterior& posterior = *calibration.posterior;
  const bool was_run = std::any_of(posterior.fitted_on.begin(), posterior.fitted_on.end(),
                                   [&](const CalibratedOn& runs) { return runs.profile == model; });
  if (was_run) return calibration;
  Shift shift{};
  const auto keep_if_sure = [&](double& factor, std::size_t term) {
    const double variance = posterior.covariance[term * (kStepTerms + 1)];
    const double deviation = std::sqrt(variance + kOtherModel * kOtherModel);
    if (std::abs(factor - 1.0) > 2.0 * deviation) return;
    shift[term] = 1.0 - factor;
    factor = 1.0;
  };
  keep_if_sure(calibration.factors.compute, 0);
  keep_if_sure(calibration.factors.small_kernels, 1);
  move_executor_with(shift, posterior, calibration);
  calibration.factors.reduction_ps_per_byte = 0.0;
  return calibration;
}

Calibration with_executor(Calibration calibration, const ExecutorModel& executor) {
  calibration.executor = executor;
  calibration.factors.transfer = 1.0;
  if (!calibration.posterior) return calibration;
  std::vector<double>& covariance = calibration.posterior->covariance;
  for (std::size_t i = 0; i < kStepTerms; ++i) {
    for (std::size_t j = 0; j < kStepTerms; ++j) {
      if (i < kFirstOfExecutor && j < kFirstOfExecutor) continue;
      const double deviation = prior_deviations(executor)[i];
      covariance[i * kStepTerms + j] = i == j ? deviation * deviation : 0.0;
    }
  }
  return calibration;
}

}  // namespace penstock
