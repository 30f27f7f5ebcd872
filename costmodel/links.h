// Times of transfers and collectives on a cluster. Curves are interpolated log-log between measured
// points and continued at the bandwidth of their last segment; without a curve, latency plus bytes
// over bandwidth. A level may have values of its own for a device type; between types the slower
// ones count. Collectives are rings through all devices, whose levels work at the same time
// (docs/cost_model.md).
#pragma once

#include <vector>

#include "core/values/cluster.h"
#include "core/values/units.h"
#include "costmodel/device_layout.h"

namespace penstock {

// Of a transfer: its level, the device types at its ends (-1: the level's own values), and how many
// transfers leave the sender's domain of the level below, or come into the receiver's, at once:
// they share its shared_bandwidth.
struct Way {
  int level = 0;
  int from_type = -1, to_type = -1;
  int flows_out = 1, flows_in = 1;
};

// Before the first byte flows; of a curve where the line through its first two points starts.
Duration latency_of(const ClusterSpec& cluster, const Way& way);
// The most that a device of the type can send, and what a domain of the level below has of shared
// bandwidth (0: no limit).
double peak_rate(const LinkLevel& level, int device_type);
double shared_rate(const LinkLevel& level, int device_type);
// Where the values of a device type come from.
int source_of(const LinkLevel& level, int device_type);
bool has_curve_for(const LinkLevel& level, int device_type);

// The innermost level that spans all the devices; devices are numbered over the cluster.
int level_of(const DeviceLayout& layout, const std::vector<int>& devices);

// One-way time of `bytes`. Nothing to send takes no time.
Duration point_to_point_time(const ClusterSpec& cluster, const Way& way, Bytes bytes);
// By the level's own values; 1: alone.
Duration point_to_point_time(const ClusterSpec& cluster, int level, Bytes bytes, int flows);

// How a set of devices lies on the levels: all that a collective's time depends on, so it can be
// worked out once for many sizes.
struct TypeOnLevel {
  int type = 0;
  int beside = 1;  // devices of its largest domain of the level below, of the group or not
  bool operator==(const TypeOnLevel&) const = default;
};
struct GroupLevel {
  int most = 1;     // domains of the level below that take part, in the fullest domain
  int least = 1;    // the same in the emptiest domain that takes part at all
  int members = 1;  // most devices of the group in one domain of the level below
  int beside = 1;   // devices of the largest such domain, of the group or not
  // The device types that send on the level, ascending; empty where all links are the level's own.
  std::vector<TypeOnLevel> types{};
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
