#include "cli/options/assumed_machine.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include <fmt/format.h>

#include "cli/options/network_rate.h"
#include "cli/words/device_called.h"
#include "cli/words/parse.h"

namespace penstock {
namespace {

constexpr int kMostGpus = 1'000'000;
constexpr int kMostGpusOfNode = 4096;
constexpr std::string_view kMarks = ":*=";
constexpr const char* kPerNode = "--gpus-per-node";

DeviceSheet sheet_with(const std::string& name, const NodesAsked& nodes) {
  DeviceSheet sheet = sheet_of(name);
  set_nodes(sheet, nodes);
  return sheet;
}

// "h100-sxm:32".
CountedSheet counted_in(const std::string& text, const NodesAsked& nodes) {
  const std::size_t mark = text.find_last_of(kMarks);
  const std::string name = text.substr(0, mark);
  if (mark == std::string::npos) {
    bad_option("--device", fmt::format("of '{}' no number of GPUs is said", text),
               fmt::format("write {}:32, and so for each of the device types", text));
  }
  return {sheet_with(name, nodes),
          parse_int("--device " + name, text.substr(mark + 1), 1, kMostGpus)};
}

// "4"; of Slurm's "a100:4" and "gpu:a100:4" both parts have options here.
int gpus_of_node(std::string text) {
  if (text.starts_with("gpu:")) text.erase(0, std::string_view("gpu:").size());
  const std::size_t colon = text.find(':');
  if (colon != std::string::npos && colon > 0 && colon + 1 < text.size()) {
    bad_option(kPerNode, fmt::format("'{}' names a GPU, too", text),
               fmt::format("that has an option of its own: --device {} {} {}",
                           text.substr(0, colon), kPerNode, text.substr(colon + 1)));
  }
  return parse_int(kPerNode, text, 1, kMostGpusOfNode);
}

}  // namespace

void set_nodes(DeviceSheet& sheet, const NodesAsked& nodes) {
  if (nodes.gpus_per_node) set_node_size(sheet, gpus_of_node(*nodes.gpus_per_node));
  if (nodes.network) set_network(sheet, parse_network("--network", *nodes.network));
}

void refuse_nodes_of_cluster(const std::string& gpus_per_node, const std::string& cluster) {
  bad_option(
      kPerNode, fmt::format("{} says how many GPUs its nodes have", cluster),
      fmt::format("leave it out; a cluster of other nodes is made from a datasheet: penstock "
                  "devices NAME --gpus 64 --gpus-per-node {} --cluster-out cluster.json",
                  gpus_per_node));
}

bool counts_several(const std::string& device) {
  return device.find(',') != std::string::npos && device.find_first_of(kMarks) != std::string::npos;
}

std::vector<CountedSheet> devices_counted(const std::string& device,
                                          const std::optional<std::string>& gpus,
                                          const NodesAsked& nodes) {
  if (!counts_several(device)) {
    DeviceSheet sheet = sheet_with(device, nodes);
    const int usual = sheet.node.devices;
    return {{std::move(sheet), gpus ? parse_int("--gpus", *gpus, 1, kMostGpus) : usual}};
  }
  if (gpus) {
    bad_option("--gpus", "the numbers stand with the device types", "leave it out");
  }
  std::vector<CountedSheet> all;
  for (const std::string& each : parse_list("--device", device)) {
    all.push_back(counted_in(each, nodes));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_twice = std::any_of(
        all.begin(), all.begin() + static_cast<std::ptrdiff_t>(i),
        [&](const CountedSheet& other) { return other.device.name == all[i].device.name; });
    if (is_twice) {
      bad_option("--device", fmt::format("{} is named twice", all[i].device.name),
                 "write all of its GPUs behind it once");
    }
  }
  return all;
}

ClusterSpec assumed_machine(const std::string& device, const std::optional<std::string>& gpus,
                            const NodesAsked& nodes) {
  return default_cluster(devices_counted(device, gpus, nodes));
}

}  // namespace penstock
