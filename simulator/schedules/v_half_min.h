// V-Half and V-Min: two stages per rank on the V with half or a third of 1F1B's memory.
#pragma once

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

}  // namespace penstock
