// A Duration as a number that formulas compute with. Never the way back: units.h has
// round_up_to_ns().
#pragma once

#include "core/values/units.h"

namespace penstock {

[[nodiscard]] inline double to_seconds(Duration duration) {
  return static_cast<double>(duration.count()) * 1e-9;
}

}  // namespace penstock
