#include "cli/change_cluster.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "cli/options/nearest.h"
#include "cli/options/parse.h"

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

double parse_factor(const std::string& option, const std::string& value) {
  return parse_number(option, value, 1e-3, 1e3);
}

// Level -1: nothing of the name; device type -1: all.
struct LinkNamed {
  int level = -1, device_type = -1;
};

// "link.efa", "link.efa.v100-16gb".
LinkNamed link_named(const ClusterSpec& cluster, const std::string& option,
                     const std::string& key) {
  std::string wanted = key;
  std::replace(wanted.begin(), wanted.end(), ' ', '-');
  std::vector<std::string> known;
  for (int level = 0; level < static_cast<int>(cluster.levels.size()); ++level) {
    known.push_back(link_key(cluster.levels[static_cast<std::size_t>(level)]));
    if (known.back() == wanted) return {level, -1};
  }
  for (std::size_t level = 0; level < cluster.levels.size(); ++level) {
    for (std::size_t type = 0; type < cluster.device_types.size(); ++type) {
      std::string name = cluster.device_types[type].name;
      std::replace(name.begin(), name.end(), ' ', '-');
      known.push_back(known[level] + '.' + name);
      if (known.back() == wanted) return {static_cast<int>(level), static_cast<int>(type)};
    }
  }
  bad_option(option, fmt::format("the cluster has no level '{}'", key.substr(5)),
             did_you_mean(wanted, known));
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

const std::vector<std::string>& cluster_keys() {
  static const std::vector<std::string> keys{"bandwidth", "memory-gib", "usd-per-gpu-hour"};
  return keys;
}

bool set(ClusterSpec& cluster, const std::string& option, const std::string& key,
         const std::string& value) {
  if (key == "bandwidth") {
    scale_bandwidth(cluster, parse_factor(option, value));
  } else if (key.starts_with(kLink)) {
    const LinkNamed link = link_named(cluster, option, key);
    const double factor = parse_factor(option, value);
    if (link.device_type < 0) {
      scale_bandwidth(cluster, link.level, factor);
    } else {
      scale_bandwidth(cluster, link.level, link.device_type, factor);
    }
  } else if (key == "memory-gib") {
    for (DeviceType& type : cluster.device_types) type.memory = parse_gib(option, value);
  } else if (key == "usd-per-gpu-hour") {
    const double usd = parse_number(option, value, 0.0, 1e6);
    for (DeviceType& type : cluster.device_types) type.usd_per_hour = usd;
  } else {
    return false;
  }
  return true;
}

}  // namespace penstock
