#include "cli/options/cluster_settings.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "cli/words/parse.h"
#include "studies/change_cluster.h"

namespace penstock {
namespace {

constexpr const char* kLink = "link.";

// "+20%" as 1.2, "50%" as 0.5, "2x" as 2; nothing of anything else.
std::string plain_factor(std::string_view text) {
  const bool is_percent = text.ends_with('%'), is_more = text.starts_with('+'),
             is_less = text.starts_with('-');
  std::string_view digits = text;
  if (is_more || is_less || text.starts_with('x')) digits.remove_prefix(1);
  if (digits.empty()) return "";
  if (is_percent || digits.ends_with('x')) digits.remove_suffix(1);
  if (digits.size() == text.size()) return "";
  double value = 0.0;
  const char* end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end || !(value >= 0.0)) return "";
  constexpr double kPercent = 100.0;
  if (is_percent) value /= kPercent;
  if (is_percent && is_more) value = 1.0 + value;
  if (is_percent && is_less) value = 1.0 - value;
  return value > 0.0 ? fmt::format("{}", value) : "";
}

double parse_factor(const std::string& option, const std::string& value) {
  if (value.find_first_of("0123456789") == 0 && value.find_last_of("bBs") == value.size() - 1) {
    bad_option(option, fmt::format("'{}' is a rate, and a factor belongs here", value),
               fmt::format("rates of the network between nodes are --vary network={}, where the "
                           "cluster is assumed; of a cluster file 0.5 halves all links, 2 doubles "
                           "them",
                           value));
  }
  const std::string plain = plain_factor(value);
  if (!plain.empty()) {
    bad_option(option, fmt::format("'{}' is not a number", value),
               fmt::format("a factor belongs here: write {}", plain));
  }
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
