// The ways to shard weights, gradients and the optimizer's state that a search tries.
#pragma once

#include <vector>

#include "core/values/sharding.h"
#include "search/best_plans.h"

namespace penstock {

// Of weights that so many devices hold (D C): FSDP, ZeRO-3, ZeRO-2, ZeRO-1, none, in this order.
// The first three only without a pipeline (but FSDP where a trainer has nothing else), the first
// two in groups of holders of every size as well, the largest first.
std::vector<ShardingChoice> sharding_choices(const SearchRequest& request, int pipeline,
                                             int holders);

}  // namespace penstock
