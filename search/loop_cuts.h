// Cuts for several stages per rank of any model on any map of stages with one copy of the weights:
// whether any fit, by a depth-first search over the stages.
#pragma once

#include "core/values/plan.h"
#include "search/joint_cuts.h"
#include "search/memory.h"

namespace penstock {

// Cuts under which every rank fits. Every stage in turn takes as many sections as fit, then fewer;
// what all ranks together have room for must hold the cheapest cuts of the rest. Gives up after so
// many runs were tried: then that none fit is not proven, nor where memory is not monotone.
FittingCuts loop_cuts(const StageMemory& memory, const Plan& plan);

}  // namespace penstock
