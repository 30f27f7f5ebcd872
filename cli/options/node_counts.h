// --nodes in place of --gpus: whole nodes of the cluster, in its order.
#pragma once

#include <string>

#include "cli/options/search_options.h"
#include "core/values/cluster.h"

namespace penstock {

// What --gpus would say of "2", "2..4" or "1,2,4" nodes: "16", "16,24,28". Error{kBadInput} for
// more nodes than there are, and for nodes of several device types, since a number of GPUs does not
// say which.
std::string gpus_of_nodes(const std::string& text, const ClusterSpec& cluster);
// The same of what the options name: a cluster, of which only the nodes of --device count where
// that is given too, or a device, whose nodes are alike.
std::string gpus_of_nodes(const std::string& text, const SearchOptions& options);

}  // namespace penstock
