// Of E experts of which a token visits K, chosen evenly, a domain that has a share 1/n of them gets
// none with probability C(E - E/n, K) / C(E, K). So a token goes to n (1 - that) of n domains, and
// from each one's network card on to the devices there (DeepEP, github.com/deepseek-ai/DeepEP, and
// HybridEP do it so); the plain all-to-all sends K copies. Where the router keeps a token to few
// nodes, the experts are those of that many.
//
// A device's own part does not leave it, nor a domain's own part the domain: of what goes to
// domains of one level that are alike, (m - 1) / m leaves, with m of them in the domain above.
#include "costmodel/exchange.h"

#include <algorithm>

#include "core/values/plan.h"
#include "costmodel/device_places.h"
#include "costmodel/interpolate.h"

namespace penstock {
namespace {

// Domains out of n that have at least one of the experts of a token.
double domains_visited(double domains, double experts, int visited) {
  const double elsewhere = experts - experts / domains;
  double none = 1.0;
  for (int k = 0; k < visited; ++k) {
    none *= std::max(elsewhere - k, 0.0) / std::max(experts - k, 1.0);
  }
  return domains * (1.0 - none);
}

}  // namespace

std::vector<int> devices_by_level(const GroupShape& group) {
  std::vector<int> devices;
  int product = 1;
  for (const GroupLevel& level : group.levels) {
    product = std::min(product * level.most, group.participants);
    devices.push_back(product);
  }
  return devices;
}

Duration exchange_time(const ClusterSpec& cluster, const GroupShape& group,
                       const std::vector<double>& bytes_by_level) {
  Duration slowest{};
  for (std::size_t l = 0; l < group.levels.size(); ++l) {
    if (bytes_by_level[l] <= 0.0) continue;
    const GroupLevel& level = group.levels[l];
    const int flows = l == 0 ? 1 : level.beside;
    const Bytes bytes = whole_bytes(bytes_by_level[l]);
    if (level.types.empty()) {
      slowest = std::max(slowest, point_to_point_time(cluster, static_cast<int>(l), bytes, flows));
    }
    for (const TypeOnLevel& each : level.types) {
      const int beside = l == 0 ? 1 : each.beside;
      const Way way{static_cast<int>(l), each.type, each.type, beside, beside};
      slowest = std::max(slowest, point_to_point_time(cluster, way, bytes));
    }
  }
  return slowest;
}

std::vector<double> equal_parts(const GroupShape& group, Bytes bytes) {
  std::vector<double> sent;
  int below = 1;
  for (const int devices : devices_by_level(group)) {
    sent.push_back(static_cast<double>(bytes.count) * (devices - below) / group.participants);
    below = devices;
  }
  return sent;
}

std::vector<double> copies_by_level(const GroupShape& group, const ExpertTraffic& traffic) {
  std::vector<double> copies;
  const double all = group.participants;
  const int nodes_level = group.levels.size() > 1 ? 1 : 0;
  double below = 1.0;  // devices in a domain of the level below
  double node = 1.0;
  for (const int devices : devices_by_level(group)) {
    const double leaves = 1.0 - below / devices;
    if (!traffic.once) {
      copies.push_back(traffic.visited * (devices - below) / all);
      below = devices;
      continue;
    }
    if (copies.empty()) node = nodes_level == 1 ? devices : all;
    const double nodes = all / node;
    // The part of the experts that the router chooses from.
    const double part =
        traffic.most_nodes > 0 && traffic.most_nodes < nodes ? traffic.most_nodes / nodes : 1.0;
    const double domains = std::max(all / below * part, 1.0);
    copies.push_back(leaves * domains_visited(domains, traffic.experts * part, traffic.visited));
    below = devices;
  }
  return copies;
}

std::vector<GroupShape> groups_apart(const ClusterSpec& cluster, const std::string& device,
                                     int ranks, int stride) {
  std::vector<GroupShape> groups;
  Plan plan;
  plan.device = device;
  plan.tensor = ranks * stride;
  plan.data = devices_of_type(cluster, device) / plan.tensor;
  if (ranks < 2 || plan.data < 1) return groups;
  const DevicePlaces places(cluster, plan);
  // Where domains hold whole groups all of them lie alike.
  const bool alike = places.distinct_inner_ranks().size() == 1 && !places.layout().types_differ();
  std::vector<int> devices(static_cast<std::size_t>(ranks));
  for (int block = 0; block < (alike ? 1 : plan.data); ++block) {
    for (int of_stride = 0; of_stride < (alike ? 1 : stride); ++of_stride) {
      for (int i = 0; i < ranks; ++i) {
        devices[static_cast<std::size_t>(i)] = places.device_of(0, block, i * stride + of_stride);
      }
      std::sort(devices.begin(), devices.end());
      GroupShape shape = group_shape(places.layout(), devices);
      if (std::find(groups.begin(), groups.end(), shape) == groups.end()) {
        groups.push_back(std::move(shape));
      }
    }
  }
  return groups;
}

ExpertGroups::ExpertGroups(const ClusterSpec& cluster, const std::string& device, int tensor_degree,
                           const OtherDegrees& others)
    : cluster_(cluster),
      groups_(
          groups_apart(cluster, device, others.expert, others.expert_tensor_of(tensor_degree))) {}

Duration ExpertGroups::time(const ExpertTraffic& traffic, Bytes tokens) const {
  Duration slowest{};
  for (const GroupShape& group : groups_) {
    std::vector<double> bytes = copies_by_level(group, traffic);
    for (double& of_level : bytes) {
      of_level *= static_cast<double>(tokens.count) * traffic.imbalance;
    }
    slowest = std::max(slowest, exchange_time(cluster_, group, bytes));
  }
  return slowest;
}

int ExpertGroups::level() const {
  int level = -1;
  for (const GroupShape& group : groups_) {
    level = std::max(level, static_cast<int>(group.levels.size()) - 1);
  }
  return level;
}

}  // namespace penstock
