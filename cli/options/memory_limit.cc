// A limit takes the place of the memory that a device has, so that everything that asks for it,
// from the search to the nearest miss, plans as for a smaller device.
#include "cli/options/memory_limit.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/words/is_digits.h"
#include "cli/words/parse.h"
#include "report/words.h"

namespace penstock {
namespace {

struct Limit {
  Bytes bytes{};       // 0: it is a share
  double share = 1.0;  // of what the device has
};

struct Unit {
  std::string_view name;
  double bytes;
};
constexpr double kGib = 0x1p30;
constexpr std::array kUnits{Unit{"gib", kGib}, Unit{"gi", kGib},    Unit{"gb", 1e9},
                            Unit{"g", kGib},   Unit{"mib", 0x1p20}, Unit{"mi", 0x1p20},
                            Unit{"mb", 1e6},   Unit{"m", 0x1p20}};

std::string in_small_letters(std::string_view text) {
  std::string small;
  for (const char c : text) {
    if (c != ' ') small += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return small;
}

Limit share_of(const std::string& option, const std::string& text, double share) {
  if (share > 0.0 && share <= 1.0) return {{}, share};
  bad_option(option, fmt::format("'{}' is no share of a GPU's memory", text.substr(0, 60)),
             "write a share up to 1, 0.85 or 85%, or an amount, 60GiB");
}

// "60,40", "60GiB,70%": a comma of thousands or a decimal one would be no limit of any GPU either.
void refuse_several(const std::string& option, const std::string& text) {
  if (text.find(',') == std::string::npos) return;
  bad_option(option,
             fmt::format("'{}' are several limits, and one belongs here", text.substr(0, 60)),
             fmt::format("give one; penstock compare ... --vary memory-limit={} plans for each",
                         text.substr(0, 60)));
}

Limit parsed(const std::string& option, const std::string& text) {
  refuse_several(option, text);
  const std::string small = in_small_letters(text);
  if (small.ends_with('%')) {
    constexpr double kPercent = 100.0;
    return share_of(option, text,
                    parse_number(option, small.substr(0, small.size() - 1), 0.0, 1e6) / kPercent);
  }
  for (const Unit& unit : kUnits) {
    if (!small.ends_with(unit.name)) continue;
    const std::string number = small.substr(0, small.size() - unit.name.size());
    return {Bytes{std::llround(parse_number(option, number, 1e-3, 1e9) * unit.bytes)}};
  }
  const double number = parse_number(option, small, 0.0, 1e6);
  if (number <= 1.0) return share_of(option, text, number);
  return {Bytes{std::llround(number * kGib)}};
}

Bytes has_at_all(const DeviceType& type) {
  return type.limited_from.count > 0 ? type.limited_from : type.memory;
}

Bytes limited(const DeviceType& type, const Limit& limit) {
  const Bytes all = has_at_all(type);
  if (limit.bytes.count > 0) return std::min(limit.bytes, all);
  return Bytes{std::llround(static_cast<double>(all.count) * limit.share)};
}

const DeviceType& largest_of(const ClusterSpec& cluster) {
  return *std::max_element(
      cluster.device_types.begin(), cluster.device_types.end(),
      [](const DeviceType& a, const DeviceType& b) { return has_at_all(a) < has_at_all(b); });
}

void refuse_too_much(const ClusterSpec& cluster, const std::string& option, const std::string& text,
                     const Limit& limit) {
  const DeviceType& largest = largest_of(cluster);
  if (limit.bytes <= has_at_all(largest)) return;
  const std::string error = fmt::format("'{}' is {} GiB, and {} has {} GiB", text.substr(0, 60),
                                        gib(limit.bytes), largest.name, gib(has_at_all(largest)));
  // As nvidia-smi prints it.
  const Bytes as_mebibytes{limit.bytes.count / 1024};
  const bool may_be_mebibytes =
      as_mebibytes >= Bytes{std::int64_t{1} << 30} && as_mebibytes <= has_at_all(largest);
  if (is_digits(text) && may_be_mebibytes) {
    bad_option(
        option, error,
        fmt::format("for MiB write {} {}MiB, which is {} GiB", option, text, gib(as_mebibytes)));
  }
  bad_option(option, error,
             "leave it out: without it plans take all that a GPU has; penstock compare ... --vary "
             "memory-gib=80,96 asks what a GPU with more would do");
}

// What the framework keeps must fit into it.
void refuse_too_little(const DeviceType& type, const std::string& option, const std::string& text) {
  if (type.memory > type.reserve) return;
  bad_option(option,
             fmt::format("'{}' is {} GiB of {}'s {}, and {} GiB of it are kept for context, "
                         "allocator and collectives",
                         text.substr(0, 60), gib(type.memory), type.name, gib(has_at_all(type)),
                         gib(type.reserve)),
             "write more, with that counted in, for example 60GiB or 85%");
}

}  // namespace

void read_memory_limit(const std::string& option, const std::string& text) {
  static_cast<void>(parsed(option, text));
}

void limit_memory(ClusterSpec& cluster, const std::string& option, const std::string& text) {
  const Limit limit = parsed(option, text);
  refuse_too_much(cluster, option, text, limit);
  for (DeviceType& type : cluster.device_types) {
    const Bytes all = has_at_all(type);
    type.memory = limited(type, limit);
    type.limited_from = type.memory < all ? all : Bytes{};
    refuse_too_little(type, option, text);
  }
}

void limit_memory(ClusterSpec& cluster, const PlanFile& plan) {
  const PlanCluster& part = plan.cluster;
  if (part.limited_from.count <= 0) return;
  for (DeviceType& type : cluster.device_types) {
    const auto other =
        std::find_if(part.other_devices.begin(), part.other_devices.end(),
                     [&type](const PlanDevice& each) { return each.name == type.name; });
    const Bytes limit = other == part.other_devices.end() ? part.memory_per_device : other->memory;
    if (limit >= type.memory) continue;
    type.limited_from = type.memory;
    type.memory = limit;
  }
}

std::string memory_limit_option(const PlanFile& plan) {
  if (plan.cluster.limited_from.count <= 0) return "";
  return fmt::format(" {} {:.6g}GiB", kMemoryLimit,
                     static_cast<double>(plan.cluster.memory_per_device.count) / kGib);
}

std::string memory_limit_words(const ClusterSpec& cluster) {
  std::vector<std::string> each;
  for (const DeviceType& type : cluster.device_types) {
    if (type.limited_from.count <= 0) continue;
    each.push_back(fmt::format("no rank above {} of {} GiB{}", gib(type.memory),
                               gib(type.limited_from),
                               cluster.device_types.size() > 1 ? " of " + type.name : ""));
  }
  return joined(each, ", ");
}

}  // namespace penstock
