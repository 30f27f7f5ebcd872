// A plan's step with all its replicas side by side on the links of a cluster.
#pragma once

#include "core/values/cluster.h"
#include "core/values/network.h"
#include "core/values/plan_file.h"

namespace penstock {

// Transfers take what they take alone on this cluster and then share; everything else is priced as
// in the file. Error{kBadInput} when the cluster has too few of the plan's devices, or when the
// replicas have more stages together than a Program can.
ContentionEffect contention_of(const PlanFile& file, const ClusterSpec& cluster);

}  // namespace penstock
