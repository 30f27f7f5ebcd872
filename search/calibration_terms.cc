#include "search/calibration_terms.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace penstock {

const std::array<CalibrationTermKind, kTerms>& calibration_terms() {
  static constexpr std::array<CalibrationTermKind, kTerms> kKinds{{
      {kStepTermNames[kCompute], TermUnit::kFactor, 1.0, -1, 0.0},
      {kStepTermNames[kSmallKernels], TermUnit::kFactor, 1.0, kCompute, 0.0},
      {kStepTermNames[kPerStep], TermUnit::kNanoseconds, 0.0, -1, 0.0},
      {kStepTermNames[kPerAction], TermUnit::kNanoseconds, 0.0, -1, 0.0},
      {kStepTermNames[kPerTransfer], TermUnit::kNanoseconds, 0.0, -1, 0.0},
      {kStepTermNames[kTransfer], TermUnit::kFactor, 0.0, -1, 1.0},
      {"reduction", TermUnit::kFactor, 0.0, -1, 1.0},
      {"reduction per byte", TermUnit::kPicosecondsPerByte, 0.0, -1, 0.0},
  }};
  return kKinds;
}

std::vector<FitTerm> fit_terms_of(std::size_t first, std::size_t end,
                                  const ExecutorModel& executor) {
  std::vector<FitTerm> terms;
  terms.reserve(end - first);
  for (std::size_t t = first; t < end; ++t) {
    const double deviation = t < kStepTerms ? prior_deviations(executor)[t] : 0.0;
    terms.push_back({calibration_terms()[t].neutral, calibration_terms()[t].follows, deviation});
  }
  return terms;
}

CalibrationValues neutral_values() {
  CalibrationValues values{};
  for (std::size_t t = 0; t < kTerms; ++t) values[t] = calibration_terms()[t].neutral;
  return values;
}

double six_decimals(double value) { return std::floor(value * 1e6 + 0.5) / 1e6; }

double five_digits(double value) {
  std::array<char, 32> text{};
  static_cast<void>(std::snprintf(text.data(), text.size(), "%.4e", value));
  return std::strtod(text.data(), nullptr);
}

}  // namespace penstock
