#include "costmodel/links.h"

#include <algorithm>
#include <cassert>
#include <string>

#include "core/error.h"
#include "costmodel/interpolate.h"

namespace penstock {
namespace {

double as_double(Duration duration) { return static_cast<double>(duration.count()); }
double as_double(Bytes bytes) { return static_cast<double>(bytes.count); }

const LinkLevel& level_at(const ClusterSpec& cluster, int level) {
  if (level < 0 || level >= static_cast<int>(cluster.levels.size())) {
    throw Error(ErrorKind::kInternal,
                "cluster '" + cluster.name + "' has no link level " + std::to_string(level));
  }
  return cluster.levels[static_cast<std::size_t>(level)];
}

// Beyond the last point the curve goes on at the bandwidth of its last segment; where that says
// nothing (one point, or two equal times), at the average of the last point.
double beyond_last_ns(const std::vector<CurvePoint>& curve, double bytes) {
  const CurvePoint& last = curve.back();
  if (curve.size() >= 2) {
    const CurvePoint& before = curve[curve.size() - 2];
    if (last.time > before.time) {
      return linear(as_double(before.bytes), as_double(before.time), as_double(last.bytes),
                    as_double(last.time), bytes);
    }
  }
  if (last.bytes.count <= 0) return as_double(last.time);
  return as_double(last.time) * bytes / as_double(last.bytes);
}

double curve_ns(const std::vector<CurvePoint>& curve, double bytes) {
  // A message smaller than the smallest measured one is not known to be faster.
  if (bytes <= as_double(curve.front().bytes)) return as_double(curve.front().time);
  if (bytes > as_double(curve.back().bytes)) return beyond_last_ns(curve, bytes);
  const auto above = std::find_if(curve.begin(), curve.end(), [&](const CurvePoint& point) {
    return as_double(point.bytes) >= bytes;
  });
  const CurvePoint& below = *(above - 1);
  return power_law(as_double(below.bytes), as_double(below.time), as_double(above->bytes),
                   as_double(above->time), bytes);
}

double bytes_over_rate_ns(double bytes, double bytes_per_s) { return bytes / bytes_per_s * 1e9; }

// The part of the lower domain's shared bandwidth that one of `flows` transfers gets; 0: no limit.
double shared_part(const LinkLevel& level, int flows) {
  return level.shared_bandwidth.value / std::max(flows, 1);
}

double message_ns(const LinkLevel& level, double bytes, int flows) {
  const double shared = shared_part(level, flows);
  if (!level.curve.empty()) {
    const double alone = curve_ns(level.curve, bytes);
    return shared > 0.0 ? std::max(alone, bytes_over_rate_ns(bytes, shared)) : alone;
  }
  const double own = level.bandwidth.value;
  const double rate = shared > 0.0 ? std::min(own, shared) : own;
  return as_double(level.latency) + bytes_over_rate_ns(bytes, rate);
}

// Messages that each member of a ring of g sends one after the other, each 1/g of the buffer.
int ring_steps(CollectiveKind kind, int g) {
  return (kind == CollectiveKind::kAllReduce ? 2 : 1) * (g - 1);
}

// All `rings` collectives send at once, but a domain has no more senders than devices.
int flows_of(int level, const GroupLevel& group, int rings) {
  if (level == 0) return 1;
  return std::min(std::max(rings, 1) * group.members, group.beside);
}

const CollectiveCurve* measured_curve(const ClusterSpec& cluster, CollectiveKind kind,
                                      const GroupShape& group) {
  const int level = static_cast<int>(group.levels.size()) - 1;
  for (const CollectiveCurve& curve : cluster.collectives) {
    if (curve.kind == kind && curve.level == level && curve.participants == group.participants &&
        !curve.curve.empty()) {
      return &curve;
    }
  }
  return nullptr;
}

// What reaches the outermost level's ring: the buffer, reduced or yet to be gathered further in.
double bytes_at_top(const GroupShape& group, double bytes) {
  for (std::size_t l = 0; l + 1 < group.levels.size(); ++l) bytes /= group.levels[l].least;
  return bytes;
}

// A curve is measured alone. With others on the same wires it cannot beat its part of them.
double shared_floor_ns(const ClusterSpec& cluster, CollectiveKind kind, const GroupShape& group,
                       double bytes, int rings) {
  const int top = static_cast<int>(group.levels.size()) - 1;
  const GroupLevel& ring = group.levels.back();
  const double shared = shared_part(level_at(cluster, top), flows_of(top, ring, rings));
  if (shared <= 0.0) return 0.0;
  const double message = bytes_at_top(group, bytes) / ring.most;
  return ring_steps(kind, ring.most) * bytes_over_rate_ns(message, shared);
}

// Inside the domains first, then across them with what is left, level by level. An all-reduce is a
// reduce-scatter on the way out and an all-gather on the way back, so its terms are twice theirs.
Duration hierarchical_ring_time(const ClusterSpec& cluster, CollectiveKind kind,
                                const GroupShape& group, double bytes, int rings) {
  Duration total{};
  for (std::size_t l = 0; l < group.levels.size(); ++l) {
    const GroupLevel& ring = group.levels[l];
    const int level = static_cast<int>(l);
    if (ring.most > 1) {
      const int flows = flows_of(level, ring, rings);
      const double message = message_ns(level_at(cluster, level), bytes / ring.most, flows);
      total += whole_nanoseconds(ring_steps(kind, ring.most) * message);
    }
    bytes /= ring.least;
  }
  return total;
}

GroupLevel group_level(const DeviceLayout& layout, const std::vector<int>& devices, int level) {
  GroupLevel shape{.most = 0, .least = static_cast<int>(devices.size()), .members = 0, .beside = 1};
  int domain = -1, inner = -1, rings_in_domain = 0, devices_in_inner = 0;
  for (const int device : devices) {
    if (const int of_device = layout.domain(level, device); of_device != domain) {
      if (domain >= 0) shape.least = std::min(shape.least, rings_in_domain);
      domain = of_device;
      rings_in_domain = 0;
    }
    if (const int of_device = layout.domain(level - 1, device); of_device != inner) {
      inner = of_device;
      devices_in_inner = 0;
      ++rings_in_domain;
      shape.beside = std::max(shape.beside, layout.domain_size(level - 1, device));
    }
    shape.members = std::max(shape.members, ++devices_in_inner);
    shape.most = std::max(shape.most, rings_in_domain);
  }
  shape.least = std::min(shape.least, rings_in_domain);
  return shape;
}

}  // namespace

int level_of(const DeviceLayout& layout, const std::vector<int>& devices) {
  if (devices.empty()) return 0;
  const auto [first, last] = std::minmax_element(devices.begin(), devices.end());
  return layout.level_between(*first, *last);  // domains are intervals
}

Duration point_to_point_time(const ClusterSpec& cluster, int level, Bytes bytes, int flows) {
  if (bytes.count <= 0) return Duration{};
  return whole_nanoseconds(message_ns(level_at(cluster, level), as_double(bytes), flows));
}

GroupShape group_shape(const DeviceLayout& layout, const std::vector<int>& devices) {
  assert(std::is_sorted(devices.begin(), devices.end()));
  GroupShape group{.participants = static_cast<int>(devices.size()), .levels = {}};
  if (devices.size() < 2) return group;
  const int top = level_of(layout, devices);
  for (int level = 0; level <= top; ++level) {
    group.levels.push_back(group_level(layout, devices, level));
  }
  return group;
}

Duration group_time(const ClusterSpec& cluster, CollectiveKind kind, const GroupShape& group,
                    Bytes bytes, int rings) {
  if (group.participants < 2 || bytes.count <= 0) return Duration{};
  if (const CollectiveCurve* measured = measured_curve(cluster, kind, group)) {
    const double alone = curve_ns(measured->curve, as_double(bytes));
    return whole_nanoseconds(
        std::max(alone, shared_floor_ns(cluster, kind, group, as_double(bytes), rings)));
  }
  return hierarchical_ring_time(cluster, kind, group, as_double(bytes), rings);
}

Duration collective_time(const ClusterSpec& cluster, CollectiveKind kind,
                         const std::vector<int>& devices, Bytes bytes, int rings) {
  return group_time(cluster, kind, group_shape(DeviceLayout(cluster), devices), bytes, rings);
}

}  // namespace penstock
