// A cluster with one thing changed: what `compare --vary` and `explain` ask "what if" about. The
// rest of it stays as it was read.
#pragma once

#include <string>
#include <vector>

#include "core/values/cluster.h"

namespace penstock {

// Every level and collective faster by `factor`; latencies stay (of a measured curve the time of
// its smallest point counts as latency).
void scale_bandwidth(ClusterSpec& cluster, double factor);
// The same for one level (an index into `levels`) and the collectives that cross it.
void scale_bandwidth(ClusterSpec& cluster, int level, double factor);
// Likewise for devices of one type (an index into `device_types`) alone.
void scale_bandwidth(ClusterSpec& cluster, int level, int device_type, double factor);

// Changes bandwidth, link.LEVEL, link.LEVEL.DEVICE-TYPE (factors), memory-gib or usd-per-gpu-hour
// (of every device type). False when the key is none of them; Error{kBadInput}, which names
// `option`, for a bad value.
bool set(ClusterSpec& cluster, const std::string& option, const std::string& key,
         const std::string& value);
// The keys but for link.LEVEL, which depends on the cluster.
const std::vector<std::string>& cluster_keys();
// "link.efa", "link.between-nodes": a level as a key, blanks become hyphens.
std::string link_key(const LinkLevel& level);

}  // namespace penstock
