// Measured runs -> Calibration: few terms, none negative, fitted by robust least squares to replays
// of the runs' own Programs, with the error of each run predicted by a fit to the others.
// docs/cost_model.md, "Calibration", has the terms and how they are chosen.
#pragma once

#include "core/calibration_result.h"
#include "core/cluster.h"
#include "core/executor_model.h"
#include "core/profile.h"
#include "core/runs.h"

namespace penstock {

// `executor`: how transfers behave and in which order they are issued; a choice, not fitted. What
// the cluster was calibrated with before does not count. Error{kBadInput} when there are fewer than
// two runs or when one cannot be priced; `file` is what the message calls the runs.
CalibrationResult calibrate(const ModelProfile& profile, const ClusterSpec& cluster,
                            const MeasuredRuns& runs, const ExecutorModel& executor,
                            const std::string& file);

}  // namespace penstock
