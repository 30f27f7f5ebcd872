// Reductions by bucket (Megatron's overlap_grad_reduce and overlap_param_gather, PyTorch's DDP):
// what of a stage's reduction and gather shows behind the compute that it runs beside.
#pragma once

#include <vector>

#include "core/values/profile.h"
#include "core/values/stage_prices.h"

namespace penstock {

// Leaves of every reduction and gather what no compute hides; nothing changes where the profile
// names no bucket. `prices` holds the whole times. `full_sizes`: the shapes of the full-size
// micro-batches, one for every kind of replicas (of a batch that is not even, all shapes); a
// reduction is hidden by none longer than by the fastest of them, since all replicas end their last
// backward together at best.
// `splits_backward`: the last action that makes a stage's gradients is a W, not a B.
void hide_reductions(const TrainingState& training, bool splits_backward,
                     const std::vector<int>& full_sizes, StagePrices& prices);

}  // namespace penstock
