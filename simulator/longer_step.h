// Compares the replays of two Programs, of which the second has a window of micro-batches more in
// the middle of every phase of its lists (list_phases.h).
#pragma once

#include <cstdint>
#include <vector>

#include "core/values/units.h"
#include "simulator/list_phases.h"

namespace penstock {

// What a window of every phase takes.
using Periods = std::vector<Duration>;

// Whether action `b` is action `a` so many micro-batches and so much time later.
[[nodiscard]] bool is_later(const ReplayedLists& of_a, std::uint32_t a, const ReplayedLists& of_b,
                            std::uint32_t b, std::int64_t micro_batches, Duration by);

// Whether all of the second is the first with a window of `length` micro-batches put into the
// middle of every phase, and how much later each action is does not depend on how many are put in.
[[nodiscard]] bool goes_on(const ReplayedLists& first, const ReplayedLists& second,
                           std::int64_t length, const Periods& periods);

}  // namespace penstock
