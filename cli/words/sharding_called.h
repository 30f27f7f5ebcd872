// What is sharded over the replicas, by any name that people have for it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/values/sharding.h"

namespace penstock {

// none, zero1, zero2, zero3 or fsdp; with ":8" behind zero3 and fsdp in groups of so many replicas
// (HSDP). Also by the names of DeepSpeed (0 to 3), PyTorch (fsdp2, full_shard, hybrid_shard) and
// Megatron (optim, optim_grads, optim_grads_params). Error{kBadInput}, which names `option`.
ShardingChoice sharding_called(std::string_view option, const std::string& typed);

// "optimizer": its state lies on the host; "none".
bool offload_called(std::string_view option, const std::string& typed);

// "ring", "all-gather" or "ulysses", also as Megatron-LM's --cp-comm-type has them.
ContextKind context_kind_called(std::string_view option, const std::string& typed);
std::vector<std::string> context_kind_names();

}  // namespace penstock
