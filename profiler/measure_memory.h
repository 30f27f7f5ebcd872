// What each section of a chain holds between its actions, and takes while it runs, counted by
// LibTorch's allocator in one step.
#pragma once

#include <vector>

#include "profiler/chain_to_measure.h"
#include "profiler/section_samples.h"
#include "training/device.h"
#include "training/rank_work.h"

namespace penstock {

// One entry per stage. `work` was made from setup_of(chain); run a step before, because the first
// one allocates what stays. Nothing else may allocate on the device meanwhile.
std::vector<SectionMemory> measure_memory(const ChainToMeasure& chain, RankWork& work,
                                          Device& device);

}  // namespace penstock
