// The automatic ZB-V schedule: two stages per rank on the V (rank r holds stages r and 2P - 1 - r),
// from costs and memory limits.
#pragma once

#include "simulator/schedules/zb_auto.h"

namespace penstock {

// The shortest of ZB-V, V-Half and V-Min where they fit, of list scheduling under every rung of a
// ladder of limits (a rank that holds less than the rung has its own limit), and of the published
// heuristic's four variants under every rung that all ranks hold. The heuristic's pattern counts on
// equal stages: it is made for the largest cost of each kind and the largest memory of a chunk, and
// timed with the costs as they are. Every limit must hold one activation of both chunks.
AutomaticLists zb_v_auto(const StageCosts& costs, int micro_batches);

}  // namespace penstock
