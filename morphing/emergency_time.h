// How long survivors take to write the state of the last finished step, before they begin.
#pragma once

#include <optional>

#include "core/values/units.h"

namespace penstock {

struct EmergencyCost {
  Bytes of_largest_stage{};     // parameters and optimizer state
  int writers = 1;              // that share a stage's bytes, where they are fewest
  BytesPerSecond of_writer{};   // to the storage
  Bytes of_model{};             // of all stages
  BytesPerSecond of_storage{};  // that all writers share; 0: no limit but theirs
  Duration until_agreed{};  // until the loss is noticed and all know which step; 0 with a notice
};

// All writers write at once. Nothing where nobody is left to write, or the rate is not positive.
std::optional<Duration> emergency_time(const EmergencyCost& cost);

// Whether it is worth beginning: it ends within the notice. Without an answer it does not.
bool fits_notice(const EmergencyCost& cost, Duration notice);

}  // namespace penstock
