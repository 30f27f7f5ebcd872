// Times of transfers and collectives on a cluster. Curves are interpolated log-log between measured
// points and continued at the bandwidth of their last segment; without a curve, latency plus bytes
// over bandwidth. Collectives follow the ring formulas level by level (docs/cost_model.md).
#pragma once

#include <vector>

#include "core/cluster.h"
#include "core/plan.h"
#include "core/units.h"

namespace penstock {

// The innermost level that spans all the devices; devices are numbered over the cluster.
int level_of(const ClusterSpec& cluster, const std::vector<int>& devices);

// One-way time of `bytes` between two devices whose innermost common level is `level`, while
// `flows` transfers leave the same domain of the level below at once (they share its
// shared_bandwidth; 1: alone).
Duration point_to_point_time(const ClusterSpec& cluster, int level, Bytes bytes, int flows);

// A collective over `devices` (ascending), each holding `bytes`; `rings` equal collectives run at
// once on the other devices of the same domains. A measured curve of the same kind, level and
// size is preferred.
Duration collective_time(const ClusterSpec& cluster, CollectiveKind kind,
                         const std::vector<int>& devices, Bytes bytes, int rings);

// Device index of (pipeline rank, replica, tensor rank) under the plan's placement.
int device_of(const Plan& plan, int rank, int replica, int tensor_rank);

}  // namespace penstock
