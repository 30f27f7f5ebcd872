#include "estimator/default_cluster.h"

#include <algorithm>
#include <string>
#include <utility>

namespace penstock {
namespace {

constexpr double kBetweenNodes = 50e9;  // where the sheet has none: a 400 Gb/s card each
constexpr Bytes kReserve{5'000'000'000};
// What NCCL gets of a link's rate, and a step of its rings (docs/cost_model.md, "Collectives").
constexpr double kShareInside = 0.81, kShareBetween = 0.93;
constexpr Duration kLatencyInside{3'400}, kLatencyBetween{30'000};

Source source_of(const DeviceSheet& device, int index, std::string id) {
  Source source = device.sources[static_cast<std::size_t>(index)];
  source.id = std::move(id);
  return source;
}

Source source_between(const DeviceSheet& device) {
  Source source{"between nodes", Origin::kAssumed, "", ""};
  source.text = device.network
                    ? device.sources[static_cast<std::size_t>(device.network->source)].text
                    : "50 GB/s per device, a 400 Gb/s card each";
  source.text +=
      "; 93 % of it in a collective, 30 us a step, fitted on published busbw of 8 to 32 GPUs";
  return source;
}

// " (assumed)", with the network that was asked for where there is one between nodes.
std::string name_of_assumption(const DeviceSheet& device, int nodes) {
  const bool is_asked = nodes > 1 && device.network && !device.network->asked.empty();
  return is_asked ? " (assumed, network " + device.network->asked + ")" : " (assumed)";
}

}  // namespace

void set_network(DeviceSheet& device, NodeNetwork network) {
  network.source = static_cast<int>(device.sources.size());
  device.sources.push_back({"asked network", Origin::kAssumed, "asked for: " + network.asked, ""});
  device.network = std::move(network);
}

void set_node_size(DeviceSheet& device, int devices) {
  if (device.host) {
    NodeHost& host = *device.host;
    host.memory = {host.memory.count / device.node.devices * devices};
    host.devices_per_link = std::min(host.devices_per_link, devices);
  }
  device.node.devices = devices;
  device.node.is_asked = true;
}

double bandwidth_between_nodes(const DeviceSheet& device) {
  return device.network ? device.network->bandwidth.value : kBetweenNodes;
}

ClusterSpec default_cluster(const DeviceSheet& device, int devices) {
  const int per_node = std::min(devices, device.node.devices);
  const int nodes = (devices + per_node - 1) / per_node;
  ClusterSpec cluster;
  cluster.name = std::to_string(nodes) + " x " + std::to_string(per_node) + " " + device.name +
                 name_of_assumption(device, nodes);
  cluster.sources = {source_of(device, device.memory_source, "memory"),
                     source_of(device, device.node.source, "link"), source_between(device)};
  cluster.sources[1].text += "; 81 % of it in a collective, 3.4 us a step, as NCCL gets";
  cluster.sources[0].text +=
      ". Memory bandwidth: " +
      device.sources[static_cast<std::size_t>(device.memory_bandwidth_source)].text +
      ". The reserve of 5 GB for context, collectives and allocator is assumed: the runs of "
      "data/runs held 4.1 to 4.96 GB";
  cluster.device_types = {{device.name, device.memory,
                           std::min(kReserve, Bytes{device.memory.count / 4}),
                           device.memory_bandwidth, 0.0, 0}};
  cluster.node_types = {{"node", 0, per_node}};
  cluster.nodes = {{0, nodes}};
  LinkLevel inside;
  inside.name = device.node.name;
  inside.devices = nodes > 1 ? per_node : 0;
  inside.latency = kLatencyInside;
  inside.bandwidth = {kShareInside * device.node.bandwidth.value};
  inside.source = 1;
  cluster.levels.push_back(inside);
  if (nodes > 1) {
    LinkLevel between;
    between.name = "between nodes";
    between.latency = kLatencyBetween;
    between.bandwidth = {kShareBetween * bandwidth_between_nodes(device)};
    if (device.network) {
      between.shared_bandwidth = {kShareBetween * device.network->shared_bandwidth.value};
    }
    between.source = 2;
    cluster.levels.push_back(between);
  }
  return cluster;
}

namespace {

// Its level on devices of this type, of the type's own cluster.
LinkOfType of_type(const LinkLevel& level, int type, int first_source) {
  LinkOfType link;
  link.device_type = type;
  link.latency = level.latency;
  link.bandwidth = level.bandwidth;
  link.shared_bandwidth = level.shared_bandwidth;
  link.source = first_source + level.source;
  return link;
}

// Nodes of one more type. `own`: of at least two nodes, so that it has both levels.
void add_type(ClusterSpec& cluster, ClusterSpec own, int nodes) {
  const int type = static_cast<int>(cluster.device_types.size());
  const int first_source = static_cast<int>(cluster.sources.size());
  const std::string& name = own.device_types.front().name;
  for (Source& source : own.sources) {
    source.id += " of " + name;
    cluster.sources.push_back(std::move(source));
  }
  own.device_types.front().source += first_source;
  cluster.device_types.push_back(own.device_types.front());
  const int per_node = own.node_types.front().devices;
  cluster.node_types.push_back({"node of " + name, type, per_node});
  cluster.nodes.push_back({type, nodes});
  cluster.name += (type == 0 ? "" : " + ") + std::to_string(nodes) + " x " +
                  std::to_string(per_node) + " " + name;
  if (type == 0) {
    cluster.levels = std::move(own.levels);
    return;
  }
  LinkLevel& inside = cluster.levels.front();
  inside.devices = std::max(inside.devices, per_node);
  for (std::size_t level = 0; level < cluster.levels.size(); ++level) {
    cluster.levels[level].of_types.push_back(of_type(own.levels[level], type, first_source));
  }
}

}  // namespace

ClusterSpec default_cluster(const std::vector<CountedSheet>& devices) {
  if (devices.size() == 1) return default_cluster(devices[0].device, devices[0].count);
  ClusterSpec cluster;
  for (const CountedSheet& each : devices) {
    DeviceSheet sheet = each.device;
    sheet.node.devices = std::min(sheet.node.devices, each.count);
    const int per_node = sheet.node.devices;
    add_type(cluster, default_cluster(sheet, 2 * per_node), (each.count + per_node - 1) / per_node);
  }
  cluster.levels.front().name = "node";
  cluster.name += name_of_assumption(devices.front().device, 2);
  return cluster;
}

}  // namespace penstock
