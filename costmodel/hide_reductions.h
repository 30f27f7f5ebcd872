// Reductions by bucket (Megatron's overlap_grad_reduce and overlap_param_gather, PyTorch's DDP):
// what of a stage's reduction and gather shows behind the compute that it runs beside.
#pragma once

#include <cstdint>
#include <vector>

#include "core/values/profile.h"
#include "core/values/stage_prices.h"

namespace penstock {

// The shapes of the micro-batches that replicas begin and end a step with: of a batch that is not
// even, all shapes.
struct OuterShapes {
  std::vector<int> first, last;
};

struct BucketRule {
  bool splits_backward = false;  // the last action that makes a stage's gradients is a W, not a B
  // With FSDP a pipeline reduces a stage behind its last backward, not beside it (PyTorch's stages
  // switch the reductions of their backwards off).
  bool hides_reductions = true;
  // A loop of chunks: behind the last backward of a chunk its rank still has so many backwards of
  // the chunk before, and before the first forward of a chunk as many of that. 0: one chunk, or
  // another map.
  int beside_other_chunks = 0;
  int ranks = 1;   // whose stages below this number are those of the first chunk
  int copies = 1;  // of the weights, between which they are reduced
};

// Leaves of every reduction and gather what no compute hides; nothing changes where the profile
// names no bucket. `prices` holds the whole times. A reduction is hidden by no backward longer than
// the fastest of the last micro-batches, which may be short, since all replicas end their last
// backward together at best; a gather by no longer forward than the fastest of the first ones.
// `parameters`: of the stages of one copy of the weights.
void hide_reductions(const TrainingState& training, const BucketRule& rule,
                     const OuterShapes& shapes, const std::vector<std::int64_t>& parameters,
                     StagePrices& prices);

// Of the reduction or the gather of a stage with so many parameters at least such a part shows,
// unless it follows the compute of another chunk.
double least_shown_of(const TrainingState& training, int copies, std::int64_t parameters);

}  // namespace penstock
