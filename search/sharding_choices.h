// The ways to shard weights, gradients and the optimizer's state that a search tries.
#pragma once

#include <vector>

#include "core/values/sharding.h"
#include "search/best_plans.h"

namespace penstock {

// Of weights that so many devices hold (D C). Without a pipeline also FSDP, ZeRO-3 and ZeRO-2, the
// first two in groups of holders of every size, too. What holds less comes first.
std::vector<ShardingChoice> sharding_choices(const SearchRequest& request, int pipeline,
                                             int holders);

}  // namespace penstock
