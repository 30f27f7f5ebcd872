// How a budget is divided over sweeps, each over sizes from small to large: every sweep may go on
// until its share of the time, and what those before it left, is used up. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/values/units.h"

namespace penstock {

class SweepBudget {
 public:
  // `budget` zero: there is none.
  SweepBudget(Duration budget, int sweeps) : budget_(budget), sweeps_(sweeps) {}

  // Whether sweep `sweep` (from 0) ends, so long after the first began.
  [[nodiscard]] bool is_used_up(int sweep, Duration since_begin) const {
    return budget_ > Duration{} && since_begin >= budget_ * (sweep + 1) / sweeps_;
  }
  // What one of `samples` of each sweep should take, `most` at most: so that half of the budget is
  // left for sizes of which a single copy takes longer.
  [[nodiscard]] Duration per_sample(Duration most, std::int64_t samples) const {
    if (budget_ == Duration{}) return most;
    return std::max(Duration{1}, std::min(most, budget_ / sweeps_ / (2 * samples)));
  }

 private:
  Duration budget_;
  int sweeps_;
};

}  // namespace penstock
