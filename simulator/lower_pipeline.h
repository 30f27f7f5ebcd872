// Lowers the lists of one pipeline into a Program, all but what ends the step.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/lower.h"

namespace penstock {

// The actions that the end of the step waits for; kWaitsForNothing where there is none.
struct PipelineEnds {
  std::vector<std::uint32_t> last_of_stage;       // last W or B
  std::vector<std::uint32_t> reduction_of_stage;  // its gradients' reduction, if emitted already
  std::vector<std::uint32_t> last_of_rank;        // last compute action
};

// Appends the actions of the Program's last pipeline, whose stages and micro-batches are
// registered.
PipelineEnds lower_pipeline(const PipelineInput& input, const LoweringOptions& options,
                            Program& program);

}  // namespace penstock
