// The machine that a datasheet assumes, by what was typed of it: --device, --gpus and --network.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/values/cluster.h"
#include "estimator/default_cluster.h"

namespace penstock {

// "h100-sxm", 16 of it; or "a100-sxm-80gb:32,h100-sxm:32", of which `gpus` says nothing.
// Error{kBadInput} for a device that is not known, and for one without a number.
std::vector<CountedSheet> devices_counted(const std::string& device,
                                          const std::optional<std::string>& gpus,
                                          const std::optional<std::string>& network);

// Whether it names numbers of several device types, "a100-sxm-80gb:32,h100-sxm:32".
bool counts_several(const std::string& device);

// The cluster of them.
ClusterSpec assumed_machine(const std::string& device, const std::optional<std::string>& gpus,
                            const std::optional<std::string>& network);

}  // namespace penstock
