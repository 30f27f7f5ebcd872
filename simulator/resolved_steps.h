// Steps of blocks with all that they need looked up once for many repetitions: the cells they read
// and write, and what they cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/values/schedule.h"

namespace penstock {

struct RolledReplay;

struct ResolvedStep {
  static constexpr std::int64_t kNothing = std::numeric_limits<std::int64_t>::min();

  // Cells of the block's first repetition, which need not exist; each further one is `travel`
  // cells behind the one before.
  std::int64_t read = kNothing, write = kNothing;
  std::int64_t duration = 0, delay = 0;
};

// How many the rank's blocks need, one at a time.
std::size_t most_resolved(const Schedule& schedule, std::size_t rank);

// Looks up a block's steps for `repetition` and what follows; the first repetition for which that
// does not hold, or `repetition` itself when it must be done step by step. Makes room for the
// arrivals of that repetition.
std::uint32_t resolve(RolledReplay& replay, const ScheduleBlock& block, std::uint32_t repetition,
                      ResolvedStep* steps);

}  // namespace penstock
