// What every automatic schedule asks of its costs before it starts.
#pragma once

#include <string>

#include "simulator/schedules/stage_costs.h"

namespace penstock {

// Error{kInternal} when the vectors do not belong together; Error{kBadInput} when a cost is
// negative or sums over the step could leave 64 bits.
void check_costs(const StageCosts& costs, int chunks_per_rank, int micro_batches);

// Why not even one forward fits on a rank with one stage: which stage, how much it needs, what
// limit would do; empty when every rank holds one.
std::string why_no_forward_fits(const StageCosts& costs);

}  // namespace penstock
