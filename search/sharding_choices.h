// The ways to shard weights, gradients and the optimizer's state that a search tries.
#pragma once

#include <vector>

#include "core/values/sharding.h"
#include "search/best_plans.h"
#include "search/device_cluster.h"

namespace penstock {

// Of weights that so many devices hold (D C). What holds less comes first. Without a pipeline also
// FSDP; in groups, too, of the holders in one node (`in_node`; 0: nothing to choose).
std::vector<ShardingChoice> sharding_choices(const SearchRequest& request, int pipeline,
                                             int holders, int in_node);
// Where all nodes are alike and hold several.
int holders_in_node(const DeviceCluster& cluster, int tensor);

}  // namespace penstock
