#include "core/values/calibration_result.h"

#include <algorithm>
#include <cmath>

namespace penstock {

bool FittedTerm::is_suspicious() const {
  constexpr double kLeast = 0.8, kMost = 1.25;
  const bool of_compute = name == kStepTermNames[0] || name == kStepTermNames[1];
  return of_compute && state == TermState::kFitted && (value < kLeast || value > kMost);
}

double relative_error(Duration predicted, Duration measured) {
  return static_cast<double>(predicted.count()) / static_cast<double>(measured.count()) - 1.0;
}

ErrorSummary summarize_errors(std::vector<double> errors) {
  ErrorSummary summary;
  if (errors.empty()) return summary;
  double squares = 0.0;
  for (double& error : errors) {
    squares += error * error;
    error = std::abs(error);
  }
  std::sort(errors.begin(), errors.end());
  const std::size_t half = errors.size() / 2;
  summary.median = errors.size() % 2 == 1 ? errors[half] : (errors[half - 1] + errors[half]) / 2.0;
  summary.root_mean_square = std::sqrt(squares / static_cast<double>(errors.size()));
  summary.largest = errors.back();
  return summary;
}

}  // namespace penstock
