// A device has one datasheet and many names: a cluster may say a100-sxm-80gb where a profile of the
// same device says a100-80gb. Costs are looked up by name, so that a profile takes those of its
// cluster when both are read.
#pragma once

#include <string>
#include <vector>

#include "core/values/cluster.h"
#include "core/values/loaded.h"

namespace penstock {

// Those that it has times of, each once.
std::vector<std::string> devices_of(const ModelProfile& profile);
// Measurements of a device that the cluster calls otherwise take its name for it; no others change.
// "a100-sxm-80gb of CLUSTER is a100-80gb of PROFILE" for each, and nothing where none did.
std::vector<std::string> take_device_names(const Loaded<ClusterSpec>& cluster,
                                           Loaded<ModelProfile>& profile);

}  // namespace penstock
