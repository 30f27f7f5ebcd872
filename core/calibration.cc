#include "core/calibration.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

// Terms of the executor, not of the machine.
constexpr std::size_t kFirstOfExecutor = 2;

}  // namespace

const std::array<double, kStepTerms>& prior_deviations() {
  static constexpr std::array<double, kStepTerms> kDeviations{0.3, 0.2, 10e6, 1e6, 0.5e6, 0.5};
  return kDeviations;
}

Calibration for_model(Calibration calibration, const std::string& model) {
  if (!calibration.posterior) return calibration;
  const Posterior& posterior = *calibration.posterior;
  const bool was_run = std::any_of(posterior.fitted_on.begin(), posterior.fitted_on.end(),
                                   [&](const CalibratedOn& runs) { return runs.profile == model; });
  if (was_run) return calibration;
  const auto keep_if_sure = [&](double& factor, std::size_t term) {
    const double deviation = std::sqrt(posterior.covariance[term * (kStepTerms + 1)]);
    if (std::abs(factor - 1.0) <= 2.0 * deviation) factor = 1.0;
  };
  keep_if_sure(calibration.factors.compute, 0);
  keep_if_sure(calibration.factors.small_kernels, 1);
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
      const double deviation = prior_deviations()[i];
      covariance[i * kStepTerms + j] = i == j ? deviation * deviation : 0.0;
    }
  }
  return calibration;
}

}  // namespace penstock
