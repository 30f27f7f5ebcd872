// How many floating-point operations the model itself asks for, whatever a plan makes of it: what
// an MFU is measured by.
#pragma once

#include "core/values/architecture.h"

namespace penstock {

// Of one sample, forward and backward: three times the forward's matrix products and attention, of
// causal models only the visible half of the scores; nothing for recompute or lookups. This is how
// Megatron-LM counts (num_floating_point_operations). Experts: those that a token visits.
double model_flops(const Architecture& model, int sequence_length);

}  // namespace penstock
