// The clock that measured timelines are written in. On one host all processes share it.
#pragma once

#include <chrono>

#include "core/values/units.h"

namespace penstock {

using SteadyTime = std::chrono::time_point<std::chrono::steady_clock, Duration>;

inline SteadyTime steady_now() {
  return std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now());
}

}  // namespace penstock
