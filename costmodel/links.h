// Times of transfers and collectives on a cluster. Curves are interpolated log-log between measured
// points and continued at the bandwidth of their last segment; without a curve, latency plus bytes
// over bandwidth. Collectives are rings through all devices, whose levels work at the same time
// (docs/cost_model.md).
#pragma once

#include <vector>

#include "core/cluster.h"
#include "core/units.h"
#include "costmodel/device_layout.h"

namespace penstock {

// Of a curve: where the line through its first two points starts.
Duration latency_of(const LinkLevel& level);

// The innermost level that spans all the devices; devices are numbered over the cluster.
int level_of(const DeviceLayout& layout, const std::vector<int>& devices);

// One-way time of `bytes` between two devices whose innermost common level is `level`, while
// `flows` transfers leave the same domain of the level below at once (they share its
// shared_bandwidth; 1: alone). Nothing to send takes no time.
Duration point_to_point_time(const ClusterSpec& cluster, int level, Bytes bytes, int flows);

// How a set of devices lies on the levels: all that a collective's time depends on, so it can be
// worked out once for many sizes.
struct GroupLevel {
  int most = 1;     // domains of the level below that take part, in the fullest domain
  int least = 1;    // the same in the emptiest domain that takes part at all
  int members = 1;  // most devices of the group in one domain of the level below
  int beside = 1;   // devices of the largest such domain, of the group or not
  bool operator==(const GroupLevel&) const = default;
};
struct GroupShape {
  int participants = 1;
  std::vector<GroupLevel> levels;  // from the innermost to the one that spans the group
  bool operator==(const GroupShape&) const = default;
};
// Of ascending devices.
GroupShape group_shape(const DeviceLayout& layout, const std::vector<int>& devices);

// A collective over `devices` (ascending), each holding `bytes`; `rings` equal collectives run at
// once on the other devices of the same domains. A measured curve of the same kind, level and
// size is preferred.
Duration collective_time(const ClusterSpec& cluster, CollectiveKind kind,
                         const std::vector<int>& devices, Bytes bytes, int rings);
Duration group_time(const ClusterSpec& cluster, CollectiveKind kind, const GroupShape& group,
                    Bytes bytes, int rings);

}  // namespace penstock
