#include "estimator/default_cluster.h"

#include <algorithm>
#include <string>

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

}  // namespace

double bandwidth_between_nodes(const DeviceSheet& device) {
  return device.network ? device.network->bandwidth.value : kBetweenNodes;
}

ClusterSpec default_cluster(const DeviceSheet& device, int devices) {
  const int per_node = std::min(devices, device.node.devices);
  const int nodes = (devices + per_node - 1) / per_node;
  ClusterSpec cluster;
  cluster.name =
      std::to_string(nodes) + " x " + std::to_string(per_node) + " " + device.name + " (assumed)";
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
    between.source = 2;
    cluster.levels.push_back(between);
  }
  return cluster;
}

}  // namespace penstock
