// A rank sends the gradients of what it steps and gets those weights back: 4 bytes a parameter in
// bf16, a quarter of what would go there and back if the state itself travelled to the device. The
// reported speed of the host is that of all its cores, so ranks of a node divide it. Where the
// device is the host's own processor, the profile has measured that step on the rank's own thread,
// which it shares with nobody.
#include "costmodel/host_updates.h"

#include <algorithm>

#include "core/values/error.h"
#include "costmodel/sharded_state.h"

namespace penstock {
namespace {

// The first whose host is described; where none is, the first.
const NodeType* nodes_with(const ClusterSpec& cluster, const std::string& device) {
  const NodeType* first = nullptr;
  for (const NodeGroup& group : cluster.nodes) {
    const NodeType& type = type_of(cluster, group);
    const auto of = static_cast<std::size_t>(type.device_type);
    if (cluster.device_types[of].name != device) continue;
    if (type.host) return &type;
    if (first == nullptr) first = &type;
  }
  return first;
}

}  // namespace

std::optional<HostOfNode> host_of(const ClusterSpec& cluster, const std::string& device) {
  const NodeType* nodes = nodes_with(cluster, device);
  return nodes == nullptr ? std::nullopt : nodes->host;
}

HostShares host_shares(const ClusterSpec& cluster, const Plan& plan, const std::string& device) {
  const NodeType* nodes = nodes_with(cluster, device);
  if (nodes == nullptr) return {};
  const int of_node = std::min(nodes->devices, plan.devices());
  const int of_link = nodes->host ? nodes->host->devices_per_link : 1;
  return {of_node, std::min(of_node, of_link)};
}

void update_on_host(const TrainingState& training, const ClusterSpec& cluster, const Plan& plan,
                    int rank, std::int64_t updated, StepPrice& step) {
  const std::string& device = plan.device_of_rank(rank);
  const std::optional<HostOfNode> host = host_of(cluster, device);
  if (!host) {
    throw_bad_input("the cluster says nothing of the host of a node with " + device +
                    ", where the optimizer's state is to lie; add \"host\" to its node type");
  }
  const HostShares shares = host_shares(cluster, plan, device);
  const BytesPerSecond link{host->bandwidth.value / shares.of_link};
  step.stored = training.bytes_per_gradient * updated;
  step.loaded = training.bytes_per_parameter * updated;
  step.store.duration = std::max(step.store.duration, transfer_time(step.stored, link));
  step.load.duration = std::max(step.load.duration, transfer_time(step.loaded, link));
  const bool is_measured = device == kCpuDevice && training.optimizer_ps_per_parameter;
  if (is_measured) return;  // step.optimizer holds it
  const double ps = kHostUpdatePsPerParameter * shares.of_node;
  const Duration update = round_up_to_ns(static_cast<double>(updated) * ps * 1e-12);
  step.optimizer.duration = std::max(step.optimizer.duration, update);
}

Bytes taken_on_host(const StagePrices& prices, const Plan& plan, const ClusterSpec& cluster,
                    const std::string& device) {
  Bytes most, all;
  for (int rank = 0; rank < plan.pipeline; ++rank) {
    Bytes of_rank;
    for (const int stage : plan.stages_of_rank(rank)) {
      const StepPrice& step = prices.step[static_cast<std::size_t>(stage)];
      of_rank += step.stored + step.loaded + step.only_on_host;
    }
    most = std::max(most, of_rank);
    all += of_rank;
  }
  return std::min(most * host_shares(cluster, plan, device).of_node,
                  all * (plan.devices() / plan.pipeline));
}

}  // namespace penstock
