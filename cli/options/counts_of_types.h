// --gpus or --nodes of several device types, each with its own numbers:
// "a100-40gb=0..8:4,v100-16gb=0,8,16".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/values/cluster.h"

namespace penstock {

struct CountsOfTypes {
  std::vector<std::string> types;        // in the order of the cluster
  std::vector<std::vector<int>> counts;  // of GPUs of each; every combination but that of no GPUs
};

// Whether the text names types.
bool names_types(const std::optional<std::string>& typed);
// `by_nodes`: whole nodes are counted, those of a type in the cluster's order. Error{kBadInput},
// which names `option`, for what is no such list, for a type or a number that the cluster lacks,
// and for fewer than two types.
CountsOfTypes counts_of_types(const std::string& typed, std::string_view option, bool by_nodes,
                              const ClusterSpec& cluster);

}  // namespace penstock
