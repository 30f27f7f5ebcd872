// What ends a step: reductions of tied weights, norm, optimizer, gather.
#pragma once

#include <vector>

#include "simulator/lower.h"
#include "simulator/lower_pipeline.h"

namespace penstock {

// Appends it behind all pipelines of the Program.
void emit_step_tail(const std::vector<PipelineInput>& inputs, const LoweringOptions& options,
                    const std::vector<PipelineEnds>& ends, Program& program);

}  // namespace penstock
