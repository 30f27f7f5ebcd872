// What `calibrate` answers: the calibration, what became of every term, and how far every run is
// off.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/values/calibration.h"
#include "core/values/plan.h"
#include "core/values/units.h"

namespace penstock {

enum class TermState {
  kFitted,
  kNoEffect,       // no run's time depends on it
  kNotIdentified,  // the runs are predicted no better with it, or cannot tell it from the others
};

enum class TermUnit { kFactor, kNanoseconds, kPicosecondsPerByte };

struct FittedTerm {
  std::string name;
  TermUnit unit = TermUnit::kFactor;
  double value = 0.0;
  TermState state = TermState::kNotIdentified;
  int runs = 0;            // whose time depends on it
  double deviation = 0.0;  // standard, of the value; 0: not known
  // Whether a factor of compute or launches is so far from 1 that something else is likely wrong.
  [[nodiscard]] bool is_suspicious() const;
};

// One measured run against its predictions.
struct RunFit {
  std::string name;
  Plan plan;
  Duration measured{}, predicted{};
  Duration left_out{};      // predicted by a fit to all other runs
  Duration uncalibrated{};  // predicted with neutral terms
  std::optional<Duration> measured_reduction, predicted_reduction;
  std::optional<Bytes> measured_memory;
  Bytes predicted_memory, left_out_memory, uncalibrated_memory;
};

struct CalibrationResult {
  Calibration calibration;
  std::vector<FittedTerm> terms;
  std::vector<RunFit> runs;
};

// predicted / measured - 1.
double relative_error(Duration predicted, Duration measured);

// Of absolute values.
struct ErrorSummary {
  double median = 0.0, root_mean_square = 0.0, largest = 0.0;
};
ErrorSummary summarize_errors(std::vector<double> errors);

}  // namespace penstock
