// So many GPUs of each type of a cluster, as a cluster: what a book's page is planned for.
#pragma once

#include <string>
#include <vector>

#include "core/values/cluster.h"

namespace penstock {

// Nodes in the order of the cluster, of each type until there are `counts` of its GPUs; the last
// one has as many of its GPUs as are left. Levels inside the nodes stay inside them.
// Error{kBadInput} where the cluster has fewer.
ClusterSpec part_of_cluster(const ClusterSpec& cluster, const std::vector<std::string>& types,
                            const std::vector<int>& counts);

}  // namespace penstock
