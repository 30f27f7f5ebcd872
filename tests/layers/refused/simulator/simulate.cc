// The last of these includes, the switch and the sum must be refused; tests/layers/refuses.cmake
// says with which words.
#include "simulator/simulate.h"

#include <vector>

#include "core/values/program.h"
#include "search/best_plan.h"

int lane_of(ActionKind kind) {
  switch (kind) {
    case ActionKind::kForward:
      return 0;
    default:
      return 1;
  }
}

Duration time_of(const ComputePrice& price, const ExecutorModel& executor) {
  return price.forward.duration + executor.per_action;
}
