// The training that every layout must equal: one process, the whole model, the whole global batch,
// torch::optim. Written without a look at training/torch, but for the data and the initial weights,
// which are given.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "training/rank_setup.h"
#include "training/token_source.h"

namespace penstock::testing {

struct ReferenceRun {
  std::vector<double> losses, gradient_norms;  // by step
  // By section and parameter, as in the outline.
  std::vector<std::vector<std::vector<double>>> weights;
};

// In double or single precision, by setup.model; the rank's view (stages, micro-batches) is
// ignored. `samples_of`: how many a step has, where it is not setup.global_batch; they may differ
// in length, and none is padded.
ReferenceRun reference_training(const RankSetup& setup, const TokenSource& data, int steps,
                                const std::function<int(int step)>& samples_of = {});

}  // namespace penstock::testing
