// When every action of a Program ran. Times are relative to the start of the step.
#pragma once

#include <vector>

#include "core/values/program.h"
#include "core/values/units.h"

namespace penstock {

struct Timeline {
  std::vector<SimTime> start;  // per action of the Program, same order
  std::vector<SimTime> end;
  SimTime step_end{};  // the last end, plus the executor's cost per step
  bool operator==(const Timeline&) const = default;
};

}  // namespace penstock
