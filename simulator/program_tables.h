// The tables of a Program that do not depend on the order of its actions.
#pragma once

#include <vector>

#include "simulator/lower.h"

namespace penstock {

// The groups over the replicas, one per set of weights: the first groups of the Program.
void add_data_groups(const std::vector<PipelineInput>& pipelines, const LoweringOptions& options,
                     Program& program);

// Ranks, stages and micro-batches of one pipeline.
void add_pipeline(const PipelineInput& input, Program& program);

}  // namespace penstock
