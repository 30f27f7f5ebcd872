// --network: what a GPU has of the network between nodes, in place of what its datasheet assumes.
#pragma once

#include <string>

#include "core/values/device_sheet.h"

namespace penstock {

// Inside the help of an option.
inline constexpr const char* kNetworkHelp =
    "with --device: the network between the nodes that are assumed, what one GPU has of it in each "
    "direction (200Gb/s, 25GB/s), or all GPUs of a node together (800Gb/s/node, 8x400Gb/s); "
    "default: the datasheet's (penstock devices NAME)";

// "200Gb/s", "200Gbps", "25GB/s" of one GPU; "800Gb/s/node" and "8x100Gb/s" of a node; "ib-200",
// "400G" and "ndr" as networks are called. Error{kBadInput} for anything else.
NodeNetwork parse_network(const std::string& option, const std::string& text);

// Error{kBadInput} where a cluster file says what the network is; it names the level to edit.
void refuse_network_of_cluster(const std::string& network, const std::string& cluster);

// A note where all GPUs are in one node, so that no network is used, and of a rate that does not
// say whether it is a GPU's or a node's; else empty.
std::string remark_of_network(const std::string& network, const DeviceSheet& device, int gpus);

}  // namespace penstock
