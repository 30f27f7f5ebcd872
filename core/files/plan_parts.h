// Parts of penstock.plan/2 that other files hold as well: the decisions (measured runs), the
// executor model and what was fitted to runs (calibrated clusters). Private to core/.
#pragma once

#include <functional>

#include "core/values/calibration.h"
#include "core/values/executor_model.h"
#include "core/values/json_reader.h"
#include "core/values/plan.h"

namespace penstock {

// A plan of a model of at most `sections` sections.
Plan read_decisions(JsonReader reader, int sections);

ExecutorModel read_executor(JsonReader reader);
Json write_executor(const ExecutorModel& executor);

// Complains of a device type that is not there.
using KnowsDevice = std::function<void(const JsonReader& device)>;
Calibration read_calibration(JsonReader object, const KnowsDevice& require_known);
Json write_calibration(const Calibration& calibration);

}  // namespace penstock
