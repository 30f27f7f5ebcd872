// What was fitted to measured runs, and how far predictions are off with it.
#pragma once

#include <string>

#include "core/values/calibration_result.h"
#include "core/values/json.h"
#include "report/screen.h"

namespace penstock {

std::string calibration_report(const CalibrationResult& result, Screen screen);
// Appends calibration, terms, runs and errors to `json`.
void set_calibration(Json& json, const CalibrationResult& result);

}  // namespace penstock
