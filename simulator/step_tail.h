// What ends a step: reductions of tied weights, norm, optimizer, gather.
#pragma once

#include <vector>

#include "simulator/lower.h"
#include "simulator/lower_pipeline.h"

namespace penstock {

// Whether a stage's gradients are reduced there: tied stages (they wait for the slowest of them),
// and copies of one stage, whose ranks finish in different orders.
bool reduces_at_end(const Schedule& schedule, const LoweringOptions& options, int stage);

// Appends it behind all pipelines of the Program.
void emit_step_tail(const std::vector<PipelineInput>& inputs, const LoweringOptions& options,
                    const std::vector<PipelineEnds>& ends, Program& program);

}  // namespace penstock
