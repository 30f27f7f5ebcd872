// A cluster with one thing changed by its key: what `compare --vary` and `--why-not` name.
#pragma once

#include <string>
#include <vector>

#include "core/values/cluster.h"

namespace penstock {

// Changes bandwidth, link.LEVEL, link.LEVEL.DEVICE-TYPE (factors), memory-gib or usd-per-gpu-hour
// (of every device type). False when the key is none of them; Error{kBadInput}, which names
// `option`, for a bad value.
bool set(ClusterSpec& cluster, const std::string& option, const std::string& key,
         const std::string& value);
// The keys but for link.LEVEL, which depends on the cluster.
const std::vector<std::string>& cluster_keys();

}  // namespace penstock
