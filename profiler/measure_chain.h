// Times every section of a model by running all of them, one after the other, as the executor does
// on a rank that holds each as a stage of its own. So a section finds the caches as cold as the
// sections before it left them, and gradients are added to what earlier micro-batches left.
#pragma once

#include <functional>

#include "profiler/chain_to_measure.h"
#include "profiler/progress.h"
#include "profiler/samples.h"
#include "profiler/section_samples.h"
#include "training/device.h"
#include "training/rank_work.h"

namespace penstock {

// `work` was made from setup_of(chain). Steps are repeated until the median of every time of every
// type is known well enough, or `progress` says stop. As many first steps as the rule has warm-ups
// (at least one) do not count; at least one counts, whatever `progress` says.
ChainSamples measure_chain(const ChainToMeasure& chain, RankWork& work, Device& device,
                           const SamplingRule& rule, ProfilingProgress& progress);

// What a rank beside one that measures does: the same steps, until `stop` says so before one.
void keep_running(const ChainToMeasure& chain, RankWork& work, const std::function<bool()>& stop);

}  // namespace penstock
