#include "cli/options/node_counts.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/io/files.h"
#include "cli/options/gpu_counts.h"
#include "cli/options/question.h"
#include "cli/words/device_called.h"
#include "cli/words/device_facts.h"
#include "cli/words/parse.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr const char* kOption = "--nodes";

std::vector<int> node_counts(const std::string& text) {
  if (auto counts = gpu_counts(text, kOption)) return *counts;
  return {parse_int(kOption, text, 1)};
}

const std::string& device_of(const ClusterSpec& cluster, const NodeGroup& group) {
  const NodeType& type = type_of(cluster, group);
  return cluster.device_types[static_cast<std::size_t>(type.device_type)].name;
}

void refuse_types(const std::string& text, const ClusterSpec& cluster) {
  const std::string& first = device_of(cluster, cluster.nodes[0]);
  for (const NodeGroup& group : cluster.nodes) {
    const std::string& other = device_of(cluster, group);
    if (other == first) continue;
    bad_option(kOption,
               fmt::format("the nodes of {} have devices of several types, and a plan for so many "
                           "GPUs takes whichever are best",
                           cluster.name),
               fmt::format("count those of each type, as --nodes {}={},{}={}, or of one: --device "
                           "{} --nodes {}",
                           first, text, other, text, first, text));
  }
}

// Only the nodes of one device type, where there are any.
ClusterSpec nodes_with(ClusterSpec cluster, const std::string& device) {
  std::vector<NodeGroup> nodes;
  for (const NodeGroup& group : cluster.nodes) {
    if (!device_among({device_of(cluster, group)}, device).empty()) nodes.push_back(group);
  }
  if (!nodes.empty()) cluster.nodes = std::move(nodes);
  return cluster;
}

// GPUs of the first 0, 1, 2, .. nodes.
std::vector<int> gpus_up_to(const ClusterSpec& cluster) {
  std::vector<int> sums = {0};
  for (const NodeGroup& group : cluster.nodes) {
    for (int n = 0; n < group.count; ++n) {
      sums.push_back(sums.back() + type_of(cluster, group).devices);
    }
  }
  return sums;
}

// The nodes of a datasheet.
int gpus_per_node(SearchOptions options) {
  options.gpus = "1";
  options.large_batch = true;
  return question_of(options).estimated->device.node.devices;
}

}  // namespace

std::string gpus_of_nodes(const std::string& text, const ClusterSpec& cluster) {
  refuse_types(text, cluster);
  const std::vector<int> sums = gpus_up_to(cluster);
  const int there = static_cast<int>(sums.size()) - 1;
  std::vector<int> gpus;
  for (const int nodes : node_counts(text)) {
    if (nodes > there) {
      bad_option(kOption, fmt::format("{} is more than the cluster has", nodes),
                 fmt::format("{} has {} of {}", cluster.name, count_of(there, "node"),
                             device_of(cluster, cluster.nodes[0])));
    }
    gpus.push_back(sums[static_cast<std::size_t>(nodes)]);
  }
  return fmt::format("{}", fmt::join(gpus, ","));
}

std::string gpus_of_nodes(const std::string& text, const SearchOptions& options) {
  if (options.gpus) {
    SearchOptions others = options;
    others.gpus.reset();
    std::string gpus = gpus_of_nodes(text, others);
    if (gpus == *options.gpus) return gpus;
    bad_option(kOption, fmt::format("{} have {} GPUs, and --gpus is {}", text, gpus, *options.gpus),
               "keep one of them");
  }
  if (options.cluster) {
    refuse_as_cluster(*options.cluster);
    ClusterSpec cluster = load_cluster(*options.cluster).value;
    if (options.device) cluster = nodes_with(std::move(cluster), *options.device);
    return gpus_of_nodes(text, cluster);
  }
  const int each = gpus_per_node(options);
  std::vector<int> gpus;
  for (const int nodes : node_counts(text)) gpus.push_back(nodes * each);
  return fmt::format("{}", fmt::join(gpus, ","));
}

}  // namespace penstock
