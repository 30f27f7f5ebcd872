// The machine that a datasheet assumes, by what was typed of it: --device, --gpus, and of its nodes
// --gpus-per-node and --network.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/values/cluster.h"
#include "estimator/default_cluster.h"

namespace penstock {

// What was typed of the nodes, in place of the datasheet's.
struct NodesAsked {
  std::optional<std::string> gpus_per_node, network;
};
inline constexpr const char* kGpusPerNodeHelp =
    "with --device: how many GPUs a node has that is assumed; default: the datasheet's (penstock "
    "devices NAME)";
void set_nodes(DeviceSheet& sheet, const NodesAsked& nodes);
// Error{kBadInput} where --gpus-per-node stands beside --cluster.
void refuse_nodes_of_cluster(const std::string& gpus_per_node, const std::string& cluster);

// "h100-sxm", 16 of it; or "a100-sxm-80gb:32,h100-sxm:32", of which `gpus` says nothing.
// Error{kBadInput} for a device that is not known, and for one without a number.
std::vector<CountedSheet> devices_counted(const std::string& device,
                                          const std::optional<std::string>& gpus,
                                          const NodesAsked& nodes);

// Whether it names numbers of several device types, "a100-sxm-80gb:32,h100-sxm:32".
bool counts_several(const std::string& device);

// The cluster of them.
ClusterSpec assumed_machine(const std::string& device, const std::optional<std::string>& gpus,
                            const NodesAsked& nodes);

}  // namespace penstock
