// The terms of a calibration: what they are called, where they start, and how their values are
// written down. Private to search/calibrate.cc.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "core/values/calibration_result.h"
#include "core/values/executor_model.h"
#include "costmodel/assumptions.h"
#include "costmodel/fit_terms.h"

namespace penstock {

// Values by term: factors, and times in ns. The first, kStepTerms of them, are fitted to step
// times, the last two to reductions measured apart: on step times they would take the blame for
// every other error.
enum CalibrationTerm : std::size_t {
  kCompute,
  kSmallKernels,
  kPerStep,
  kPerAction,
  kPerTransfer,
  kTransfer,                // on top of the links' own time
  kReduction = kStepTerms,  // on top likewise
  kPerReducedByte,          // ps
  kTerms,
};
using CalibrationValues = std::array<double, kTerms>;

struct CalibrationTermKind {
  const char* name;
  TermUnit unit;
  double neutral;
  int follows;
  double on_top_of;  // what is reported is the value and this
};

[[nodiscard]] const std::array<CalibrationTermKind, kTerms>& calibration_terms();

// Terms of reductions have no prior.
[[nodiscard]] std::vector<FitTerm> fit_terms_of(std::size_t first, std::size_t end,
                                                const ExecutorModel& executor);

[[nodiscard]] CalibrationValues neutral_values();

// Files hold six decimals; so predictions are made with no more.
[[nodiscard]] double six_decimals(double value);

// Five digits: more of a variance says nothing, and compilers may differ in the last.
[[nodiscard]] double five_digits(double value);

}  // namespace penstock
