// What the host of a rank does in its stead where the optimizer's state lies there
// (Plan::offload_optimizer): gradients come, the host steps, weights go back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/values/cluster.h"
#include "core/values/plan.h"
#include "core/values/profile.h"
#include "core/values/stage_prices.h"
#include "core/values/units.h"

namespace penstock {

// The reported speed of Adam on the host's cores: 0.22 s for 10^9 parameters (ZeRO-Offload, arXiv
// 2101.06840, "CPU-Adam"; assumed of other machines).
inline constexpr double kHostUpdatePsPerParameter = 220.0;

// What `profile` calls the device type of a machine without GPUs: its threads are the host's.
inline constexpr const char* kCpuDevice = "cpu";

// The first host that the cluster describes of nodes with devices of that type, if any.
std::optional<HostOfNode> host_of(const ClusterSpec& cluster, const std::string& device);

// So many ranks of the plan share a node, and so many of these a link to its host.
struct HostShares {
  int of_node = 1, of_link = 1;
};
HostShares host_shares(const ClusterSpec& cluster, const Plan& plan, const std::string& device);

// Of a stage whose rank steps `updated` parameters: the state moves to the host, and the update and
// the copies there and back are priced. All ranks of a node copy and step at the same time, so each
// has its share of the link and of the cores. Error{kBadInput} where nothing is known of the host.
void update_on_host(const TrainingState& training, const ClusterSpec& cluster, const Plan& plan,
                    int rank, std::int64_t updated, StepPrice& step);

// What a node with `device`s keeps on its host, at most: as if each of its ranks were the fullest,
// but no more than all ranks of the job together.
Bytes taken_on_host(const StagePrices& prices, const Plan& plan, const ClusterSpec& cluster,
                    const std::string& device);

}  // namespace penstock
