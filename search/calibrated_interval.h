// How far a prediction may be off on a calibrated cluster: what the runs leave open of every term,
// as far as this plan answers to it, what one run differs from the next, and what the plan has that
// no run had.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "search/evaluate.h"

namespace penstock {

struct CalibratedInterval {
  double half_width = 0.0;         // relative; nine runs of ten lie within
  std::vector<std::string> notes;  // what widens it, in words
};

// Of a plan that is priced with the calibration of its cluster; nothing when that one says nothing
// of it: another device type, or a file of an older version.
std::optional<CalibratedInterval> calibrated_interval(const PlanInputs& inputs,
                                                      const EvaluatedPlan& evaluated);

// The 95th percentile of Student's t: nine of ten lie between it and its negative.
double nine_of_ten(int degrees);

}  // namespace penstock
