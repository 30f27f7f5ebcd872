// A cluster with one thing changed: what `compare --vary` and `explain` ask "what if" about. The
// rest of it stays as it was read.
#pragma once

#include <string>

#include "core/values/cluster.h"

namespace penstock {

// Every level and collective faster by `factor`; latencies stay (of a measured curve the time of
// its smallest point counts as latency).
void scale_bandwidth(ClusterSpec& cluster, double factor);
// The same for one level (an index into `levels`) and the collectives that cross it.
void scale_bandwidth(ClusterSpec& cluster, int level, double factor);
// Likewise for devices of one type (an index into `device_types`) alone.
void scale_bandwidth(ClusterSpec& cluster, int level, int device_type, double factor);

// "link.efa", "link.between-nodes": a level as a key, blanks become hyphens.
std::string link_key(const LinkLevel& level);

}  // namespace penstock
