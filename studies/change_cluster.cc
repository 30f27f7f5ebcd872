#include "studies/change_cluster.h"

#include <algorithm>
#include <cstddef>

namespace penstock {
namespace {

constexpr const char* kLink = "link.";

void scale_curve(std::vector<CurvePoint>& curve, double factor) {
  if (curve.empty()) return;
  const Duration latency = curve.front().time;
  for (CurvePoint& point : curve) {
    point.time = latency + scaled(point.time - latency, 1.0 / factor);
  }
}

template <class Link>
void scale_link(Link& link, double factor) {
  scale_curve(link.curve, factor);
  link.bandwidth.value *= factor;
  link.shared_bandwidth.value *= factor;
}

// The values of one type on a level; where it has none of its own, it gets the level's, and the
// collectives that were measured there.
LinkOfType& own_values(ClusterSpec& cluster, int level, int type) {
  LinkLevel& link = cluster.levels[static_cast<std::size_t>(level)];
  for (LinkOfType& own : link.of_types) {
    if (own.device_type == type) return own;
  }
  const std::vector<CollectiveCurve> before = cluster.collectives;
  for (const CollectiveCurve& curve : before) {
    const bool has_own = std::any_of(before.begin(), before.end(), [&](const auto& other) {
      return other.kind == curve.kind && other.level == level &&
             other.participants == curve.participants && other.device_type == type;
    });
    if (curve.level != level || curve.device_type >= 0 || has_own) continue;
    cluster.collectives.push_back(curve);
    cluster.collectives.back().device_type = type;
  }
  link.of_types.push_back(
      {type, link.curve, link.latency, link.bandwidth, link.shared_bandwidth, link.source});
  return link.of_types.back();
}

}  // namespace

void scale_bandwidth(ClusterSpec& cluster, int level, double factor) {
  LinkLevel& link = cluster.levels[static_cast<std::size_t>(level)];
  scale_link(link, factor);
  for (LinkOfType& own : link.of_types) scale_link(own, factor);
  for (CollectiveCurve& collective : cluster.collectives) {
    if (collective.level == level) scale_curve(collective.curve, factor);
  }
}

void scale_bandwidth(ClusterSpec& cluster, int level, int device_type, double factor) {
  scale_link(own_values(cluster, level, device_type), factor);
  for (CollectiveCurve& collective : cluster.collectives) {
    if (collective.level == level && collective.device_type == device_type) {
      scale_curve(collective.curve, factor);
    }
  }
}

void scale_bandwidth(ClusterSpec& cluster, double factor) {
  for (int level = 0; level < static_cast<int>(cluster.levels.size()); ++level) {
    scale_bandwidth(cluster, level, factor);
  }
}

std::string link_key(const LinkLevel& level) {
  std::string key = kLink + level.name;
  std::replace(key.begin(), key.end(), ' ', '-');
  return key;
}

}  // namespace penstock
