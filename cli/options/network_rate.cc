// Networks are sold in bits and copies are counted in bytes, so that a number without a unit is
// refused rather than guessed. The large letter is the byte's, as everywhere.
#include "cli/options/network_rate.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "cli/io/files.h"
#include "cli/words/parse.h"
#include "core/values/cluster.h"

namespace penstock {
namespace {

constexpr double kGiga = 1e9, kBitsOfByte = 8.0;
constexpr double kLeast = 1e6, kMost = 1e15;  // bytes per second
// What the fastest cards of one GPU have, 1.6 Tb/s; a machine's total is sold as 3200 Gb/s.
constexpr double kMostOfGpu = 200e9;

std::string in_small(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// The number that the text begins with, which is cut off.
std::optional<double> take_number(std::string_view& text) {
  double number = 0.0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec != std::errc() || !(number > 0.0)) return {};
  text.remove_prefix(static_cast<std::size_t>(result.ptr - text.data()));
  return number;
}

// "Gb/s", "GBps", "gbit/s": in bytes per second; nothing of other words.
std::optional<double> unit_of(std::string_view unit) {
  struct Prefix {
    char letter;
    double factor;
  };
  constexpr std::array kPrefixes{Prefix{'m', 1e6}, Prefix{'g', kGiga}, Prefix{'t', 1e12}};
  if (unit.empty()) return {};
  const auto first = static_cast<char>(std::tolower(static_cast<unsigned char>(unit.front())));
  const auto* prefix = std::find_if(kPrefixes.begin(), kPrefixes.end(),
                                    [&](const Prefix& each) { return each.letter == first; });
  if (prefix == kPrefixes.end()) return {};
  unit.remove_prefix(1);
  const std::string word = in_small(unit);
  // "400G", as cards are called, is in bits.
  const bool is_bits = (word == "b/s" || word == "bps" || word == "b") && unit.front() == 'b';
  if (word.empty() || is_bits || word == "bit/s" || word == "bits/s" || word == "bit") {
    return prefix->factor / kBitsOfByte;
  }
  const bool is_bytes =
      word == "b/s" || word == "bps" || word == "b" || word == "byte/s" || word == "bytes/s";
  if (is_bytes) return prefix->factor;
  constexpr double kBinary = 1.024 * 1.024 * 1.024;
  if (prefix->letter == 'g' && word == "ib/s") return prefix->factor * kBinary;
  return {};
}

bool take_start(std::string_view& text, std::string_view start) {
  if (!text.starts_with(start)) return false;
  text.remove_prefix(start.size());
  while (!text.empty() && std::string_view("-_: ").find(text.front()) != text.npos) {
    text.remove_prefix(1);
  }
  return true;
}

// What one port of InfiniBand has, by the name of its generation, "NDR" or "ndr400"; in Gb/s.
double generation_rate(std::string_view word) {
  struct Generation {
    std::string_view name;
    double rate;
  };
  constexpr std::array kGenerations{Generation{"edr", 100.0}, Generation{"hdr", 200.0},
                                    Generation{"ndr", 400.0}, Generation{"xdr", 800.0}};
  for (const Generation& each : kGenerations) {
    std::string_view rest = word;
    if (!take_start(rest, each.name)) continue;
    if (rest.empty() || take_number(rest) == each.rate) return rest.empty() ? each.rate : 0.0;
  }
  return 0.0;
}

// "ib-200" as "200", of which bits are meant; without such a name nothing is cut off.
bool take_maker(std::string_view& text) {
  constexpr std::array<std::string_view, 6> kMakers{"infiniband", "ethernet", "roce",
                                                    "efa",        "ib",       "eth"};
  const std::string small = in_small(text);
  return std::any_of(kMakers.begin(), kMakers.end(), [&](std::string_view maker) {
    std::string_view rest = small;
    if (!take_start(rest, maker)) return false;
    text.remove_prefix(text.size() - rest.size());
    return true;
  });
}

bool take_end(std::string_view& text, std::string_view end) {
  if (!text.ends_with(end)) return false;
  text.remove_suffix(end.size());
  return true;
}

struct Rate {
  double bytes_per_s = 0.0;
  bool is_of_node = false, is_of_gpu = false;  // as it was said; else one GPU is taken
};

std::optional<Rate> rate_in(std::string_view text) {
  Rate rate;
  rate.is_of_node = take_end(text, "/node") || take_end(text, " per node");
  rate.is_of_gpu = !rate.is_of_node && (take_end(text, "/gpu") || take_end(text, " per GPU"));
  const bool is_called = take_maker(text);
  if (const double known = generation_rate(in_small(text)); known > 0.0) {
    rate.bytes_per_s = known * kGiga / kBitsOfByte;
    return rate;
  }
  std::optional<double> number = take_number(text);
  if (number && text.size() > 1 && (text.front() == 'x' || text.front() == '*')) {
    text.remove_prefix(1);
    const double cards = *number;
    number = take_number(text);
    if (number) *number *= cards;
    rate.is_of_node = true;
  }
  if (!number) return {};
  while (text.starts_with(' ')) text.remove_prefix(1);
  const std::optional<double> unit =
      text.empty() && is_called ? std::optional(kGiga / kBitsOfByte) : unit_of(text);
  if (!unit) return {};
  rate.bytes_per_s = *number * *unit;
  return rate;
}

[[noreturn]] void refuse_rate(const std::string& option, const std::string& text) {
  std::string_view rest = text;
  const std::optional<double> number = take_number(rest);
  if (number && rest.empty()) {
    bad_option(option, fmt::format("'{}' has no unit", text),
               fmt::format("write --network {0}Gb/s, in bits as networks are sold ({1:g} GB/s), or "
                           "--network {0}GB/s, in bytes",
                           text, *number / kBitsOfByte));
  }
  bad_option(option, fmt::format("'{}' is no rate", text),
             "write what one GPU has of the network between nodes, in each direction, as --network "
             "200Gb/s or --network 25GB/s; what all GPUs of a node share is --network "
             "800Gb/s/node");
}

// A rate that only a whole node has.
void refuse_total(const std::string& option, const std::string& text, const Rate& rate) {
  if (rate.is_of_node || rate.is_of_gpu || rate.bytes_per_s <= kMostOfGpu) return;
  constexpr int kGpusOfNode = 8;
  bad_option(option, fmt::format("no network gives {} to each GPU", text),
             fmt::format("if it is the total of a node, write --network {0}/node, which is {1:g} "
                         "Gb/s for each of {2} GPUs, or --network {1:g}Gb/s; if each GPU has it, "
                         "as NVLink between nodes, write --network {0}/gpu",
                         text, rate.bytes_per_s * kBitsOfByte / kGiga / kGpusOfNode, kGpusOfNode));
}

}  // namespace

NodeNetwork parse_network(const std::string& option, const std::string& text) {
  const std::optional<Rate> rate = rate_in(text);
  if (!rate) refuse_rate(option, text);
  if (rate->bytes_per_s < kLeast || rate->bytes_per_s > kMost) {
    bad_option(option, fmt::format("{} is the rate of no network", text),
               "write what one GPU has of it in each direction, for example --network 200Gb/s");
  }
  refuse_total(option, text, *rate);
  NodeNetwork network;
  network.bandwidth = {rate->bytes_per_s};
  if (rate->is_of_node) network.shared_bandwidth = {rate->bytes_per_s};
  network.asked = text;
  return network;
}

void refuse_network_of_cluster(const std::string& network, const std::string& cluster) {
  const double rate = parse_network("--network", network).bandwidth.value;
  const ClusterSpec there = load_cluster(cluster).value;
  const std::string level =
      there.levels.empty() ? "" : fmt::format(" (\"{}\")", there.levels.back().name);
  bad_option("--network", fmt::format("{} says what its links are", cluster),
             fmt::format("edit {}: \"bandwidth_bytes_per_s\": {:.0f} of its last level{} is {}; or "
                         "leave --cluster out and write --device NAME --network {}",
                         cluster, rate, level, network, network));
}

namespace {

// "100Gb/s" may be the card of a node, which its GPUs share.
std::string remark_on_share(const std::string& network, int of_node) {
  const bool says_whose = network.ends_with("/gpu") || network.ends_with(" per GPU") ||
                          parse_network("--network", network).shared_bandwidth.value > 0.0;
  if (says_whose || of_node < 2) return "";
  return fmt::format(
      "note: --network {0} is what each GPU has; if the {1} GPUs of a node share it, write "
      "--network {0}/node\n",
      network, of_node);
}

}  // namespace

std::string remark_of_network(const std::string& network, const DeviceSheet& device, int gpus) {
  if (gpus > device.node.devices) return remark_on_share(network, device.node.devices);
  return fmt::format("note: --network {} is not used: the {} GPUs are in one node of {}\n", network,
                     gpus, device.node.devices);
}

}  // namespace penstock
