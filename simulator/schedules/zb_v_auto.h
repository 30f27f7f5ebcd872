// The automatic ZB-V schedule: two stages per rank on the V (rank r holds stages r and 2P - 1 - r),
// from costs and memory limits.
#pragma once

#include "simulator/schedules/zb_auto.h"

namespace penstock {

// The shortest span over the heuristic's four variants, for the limits rounded down to a ladder of
// whole activations of a chunk and for every lower rung; so raising limits never makes it longer.
// The pattern counts on equal stages: it is made for the largest cost of each kind, the largest
// memory of a chunk and the smallest limit, and timed with the costs as they are.
AutomaticLists zb_v_auto(const StageCosts& costs, int micro_batches);

}  // namespace penstock
