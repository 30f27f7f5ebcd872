// Megatron-LM's and PyTorch's flags for FSDP, which say together what --sharding says alone.
#pragma once

#include <optional>

#include "cli/answers/options/launch_counts.h"

namespace penstock {

// "--use-torch-fsdp2 --data-parallel-sharding-strategy optim_grads_params", "--fsdp full_shard";
// nothing without such a flag, and where --sharding is given.
std::optional<CountsMeant> sharding_meant(const Arguments& arguments, const Asked& asked);

}  // namespace penstock
