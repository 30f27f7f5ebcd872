// What every automatic schedule asks of its costs before it starts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/schedules/stage_costs.h"

namespace penstock {

// Error{kInternal} when the vectors do not belong together; Error{kBadInput} when a cost is
// negative or sums over the step could leave 64 bits.
void check_costs(const StageCosts& costs, int chunks_per_rank, int micro_batches);

// Why not even one forward fits on a rank with one stage: which stage, how much it needs, what
// limit would do; empty when every rank holds one.
std::string why_no_forward_fits(const StageCosts& costs);

// One stage of StageCosts, with what lies between it and its neighbours.
struct PipelineStage {
  Duration forward, input_gradient, weight_gradient;
  Duration activation{0};  // transfer from the stage before
  Duration gradient{0};    // transfer from the stage behind
  Duration work;           // F, I and W of one micro-batch
  Duration round_trip;     // of a micro-batch from the start of its F to the end of its I here
  std::int64_t taken, freed_by_input, freed_by_weight;
};
std::vector<PipelineStage> pipeline_stages(const StageCosts& costs);

}  // namespace penstock
