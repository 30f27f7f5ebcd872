// A loss that is infinite or no number has no other way into JSON than null: in logs of
// runs, in results, in the state of a job.
#pragma once

#include <cmath>
#include <limits>

#include "core/values/json.h"
#include "core/values/json_reader.h"

namespace penstock {

inline Json finite_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(); }

inline double number_or_null(const JsonReader& value,
                             double null = std::numeric_limits<double>::quiet_NaN()) {
  if (value.value().kind() == Json::Kind::kNull) return null;
  constexpr double kMost = std::numeric_limits<double>::max();
  return value.number(-kMost, kMost);
}

}  // namespace penstock
