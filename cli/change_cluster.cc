#include "cli/change_cluster.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "cli/nearest.h"
#include "cli/parse.h"

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

double parse_factor(const std::string& option, const std::string& value) {
  return parse_number(option, value, 1e-3, 1e3);
}

int level_named(const ClusterSpec& cluster, const std::string& option, const std::string& key) {
  std::string wanted = key;
  std::replace(wanted.begin(), wanted.end(), ' ', '-');
  std::vector<std::string> known;
  known.reserve(cluster.levels.size());
  for (const LinkLevel& level : cluster.levels) known.push_back(link_key(level));
  const auto found = std::find(known.begin(), known.end(), wanted);
  if (found != known.end()) return static_cast<int>(found - known.begin());
  bad_option(option, fmt::format("the cluster has no level '{}'", key.substr(5)),
             did_you_mean(wanted, known));
}

}  // namespace

void scale_bandwidth(ClusterSpec& cluster, int level, double factor) {
  LinkLevel& link = cluster.levels[static_cast<std::size_t>(level)];
  scale_curve(link.curve, factor);
  link.bandwidth.value *= factor;
  link.shared_bandwidth.value *= factor;
  for (CollectiveCurve& collective : cluster.collectives) {
    if (collective.level == level) scale_curve(collective.curve, factor);
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
    scale_bandwidth(cluster, level_named(cluster, option, key), parse_factor(option, value));
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
