// Rules that change a rank's order while the step runs (docs/schedules.md, "varuna").
#pragma once

namespace penstock {

enum class RunTimeRule {
  kNone,           // a static order
  kVaruna,         // a forward goes before a recompute whose gradient has not arrived
  kVarunaRuntime,  // and with no forward left the recompute does not wait for its gradient
  kVarunaStrict,   // as kVaruna, but only when the activation of that forward has arrived
};

}  // namespace penstock
