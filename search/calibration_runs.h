// What a calibration predicts of measured runs with given terms. Private to search/calibrate.cc.
#pragma once

#include <string>
#include <vector>

#include "core/values/calibration.h"
#include "core/values/cluster.h"
#include "core/values/executor_model.h"
#include "core/values/profile.h"
#include "core/values/program.h"
#include "core/values/runs.h"
#include "core/values/stage_prices.h"
#include "search/calibration_terms.h"
#include "search/evaluate.h"
#include "search/fit_memory.h"

namespace penstock {

// A run, and what does not depend on the terms.
struct CalibrationRun {
  const MeasuredRun* run = nullptr;
  const ModelProfile* profile = nullptr;
  EvaluatedPlan neutral;  // with neutral terms
  MemoryRun memory;
  double weight = 1.0;
};

// Of the fullest stage, with neutral terms.
struct MeasuredReduction {
  double time = 0.0, gradient_bytes = 0.0;
};
MeasuredReduction reduction_of(const CalibrationRun& of);

class CalibrationRuns {
 public:
  // As calibrate() takes them; keeps `runs`, `executor` and `file` by reference.
  CalibrationRuns(const std::vector<const ModelProfile*>& profiles, const ClusterSpec& cluster,
                  const MeasuredRuns& runs, const ExecutorModel& executor, const std::string& file);

  [[nodiscard]] const std::vector<CalibrationRun>& cases() const { return cases_; }
  [[nodiscard]] Calibration calibration_of(const CalibrationValues& values) const;
  // Of every run, in nanoseconds.
  [[nodiscard]] std::vector<double> step_times(const CalibrationValues& values) const;
  [[nodiscard]] EvaluatedPlan evaluated(const MeasuredRun& run, const ModelProfile& model,
                                        const CalibrationValues& values,
                                        const MemoryFactors& memory) const;

 private:
  [[noreturn]] void refuse(const MeasuredRun& run, const std::string& why) const;
  [[nodiscard]] CalibrationRun case_of(const MeasuredRun& run, const ModelProfile& profile) const;

  ClusterSpec cluster_;
  const MeasuredRuns& runs_;
  const ExecutorModel& executor_;
  const std::string& file_;
  std::vector<const ModelProfile*> models_;  // each once
  std::vector<CalibrationRun> cases_;
};

}  // namespace penstock
