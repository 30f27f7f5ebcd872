// Sections measured while other ranks run the same ones, as in a job: processors share caches and
// memory, so a rank alone on a machine is faster than one of several.
#pragma once

#include "profiler/measure_chain.h"
#include "training/transport.h"

namespace penstock {

// The ranks that compute at the same time: 0 to ranks - 1 of the job. Without a job there is one.
struct RanksBeside {
  Transport* job = nullptr;
  int ranks = 1;
  [[nodiscard]] int rank() const { return job == nullptr ? 0 : job->rank(); }
};

// Each of the ranks calls it with the same chain and a RankWork of its own. Rank 0 measures and has
// the result; the others run the same steps until it is done, and their result is empty.
ChainSamples measure_beside(const ChainToMeasure& chain, RankWork& work, Device& device,
                            const SamplingRule& rule, ProfilingProgress& progress,
                            const RanksBeside& beside);

// Rank 0's answer, on each of the ranks.
bool same_answer(bool answer, const RanksBeside& beside);

}  // namespace penstock
