// Reductions by bucket (Megatron's overlap_grad_reduce and overlap_param_gather, PyTorch's DDP):
// what of a stage's reduction and gather shows behind the compute that it runs beside.
#pragma once

#include "core/profile.h"
#include "core/stage_prices.h"

namespace penstock {

// Leaves of every reduction and gather what no compute hides; nothing changes where the profile
// names no bucket. `prices` holds the whole times, and compute of full-size micro-batches first.
// `splits_backward`: the last action that makes a stage's gradients is a W, not a B.
void hide_reductions(const TrainingState& training, bool splits_backward, StagePrices& prices);

}  // namespace penstock
