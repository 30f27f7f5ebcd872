// Measured runs -> Calibration: few terms, none negative, fitted to replays of the runs' own
// Programs by robust least squares and by what is physically likely, with the error of each run
// predicted by a fit to the others. docs/cost_model.md, "Calibration", has the terms and how they
// are chosen.
#pragma once

#include <string>
#include <vector>

#include "core/values/calibration_result.h"
#include "core/values/cluster.h"
#include "core/values/executor_model.h"
#include "core/values/profile.h"
#include "core/values/runs.h"

namespace penstock {

// `profiles`: of each run, the model that was run; several runs may share one. `executor`: how
// transfers behave and in which order they are issued; a choice, not fitted. What the cluster was
// calibrated with before does not count. Error{kBadInput} when there is no run or when one cannot
// be priced; `file` is what the message calls the runs.
CalibrationResult calibrate(const std::vector<const ModelProfile*>& profiles,
                            const ClusterSpec& cluster, const MeasuredRuns& runs,
                            const ExecutorModel& executor, const std::string& file);

// All runs of one model.
CalibrationResult calibrate(const ModelProfile& profile, const ClusterSpec& cluster,
                            const MeasuredRuns& runs, const ExecutorModel& executor,
                            const std::string& file);

}  // namespace penstock
