// V-Half and V-Min: two stages per rank on the V with half or a third of 1F1B's memory.
#pragma once

#include <optional>
#include <vector>

#include "core/values/schedule.h"
#include "simulator/schedules/schedules.h"
#include "simulator/schedules/v_squeeze.h"

namespace penstock {

enum class VMemory { kHalf, kMin };

// Rank `rank`'s slots of micro-batch 0.
LegSlots v_pattern(VMemory memory, int ranks, int rank);

// The lists of all ranks. O(ranks * (micro_batches + ranks)) slots, warm-up and drain more.
std::vector<std::vector<ComputeAction>> v_lists(VMemory memory, int ranks, int micro_batches);

// The same, the steady state rolled up: made for no more micro-batches than the steady state needs
// to show, and repeated from there.
Schedule v_schedule(const ScheduleKind& kind, VMemory memory, const ScheduleShape& shape);

// A schedule of a few blocks per rank, made at once: least_held() cannot tell it from the lists, or
// finds that it holds no more, with no fewer forwards waiting on any stage, and as many on the
// first (v-half, with 0.6 P to P + 1 micro-batches). Nothing for the numbers of ranks of which no
// closed form is known.
std::optional<Schedule> held_as_in_lists(const ScheduleKind& kind, VMemory memory,
                                         const ScheduleShape& shape);
// Likewise, of any schedule; nothing also where it is neither of the two.
std::optional<Schedule> held_as_in_lists(const ScheduleKind& kind, const ScheduleShape& shape);

}  // namespace penstock
