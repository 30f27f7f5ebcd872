// Parts of penstock.plan/2 that have a reader of their own. Other files hold some of them as well:
// the decisions (measured runs), the executor model and what was fitted to runs (calibrated
// clusters). Private to core/.
#pragma once

#include <functional>

#include "core/values/calibration.h"
#include "core/values/executor_model.h"
#include "core/values/json_reader.h"
#include "core/values/plan.h"
#include "core/values/plan_file.h"

namespace penstock {

// A plan of a model of at most `sections` sections.
Plan read_decisions(JsonReader reader, int sections);

// The prices of the stages and ties of a file whose plan and ties are set.
StagePrices read_prices(JsonReader reader, const PlanFile& file);

// A prediction for `ranks` listed ranks.
Evaluation read_prediction(JsonReader reader, int ranks);

ExecutorModel read_executor(JsonReader reader);
Json write_executor(const ExecutorModel& executor);

// Complains of a device type that is not there.
using KnowsDevice = std::function<void(const JsonReader& device)>;
Calibration read_calibration(JsonReader object, const KnowsDevice& require_known);
Json write_calibration(const Calibration& calibration);

}  // namespace penstock
