#include "estimator/default_cluster.h"

#include <algorithm>
#include <string>

namespace penstock {
namespace {

constexpr double kBetweenNodes = 50e9;  // bytes/s of one device: a 400 Gb/s card each
constexpr Bytes kReserve{5'000'000'000};
constexpr Duration kLatencyInside{10'000}, kLatencyBetween{30'000};

Source source_of(const DeviceSheet& device, int index, std::string id) {
  Source source = device.sources[static_cast<std::size_t>(index)];
  source.id = std::move(id);
  return source;
}

}  // namespace

ClusterSpec default_cluster(const DeviceSheet& device, int devices) {
  const int per_node = std::min(devices, device.node.devices);
  const int nodes = (devices + per_node - 1) / per_node;
  ClusterSpec cluster;
  cluster.name =
      std::to_string(nodes) + " x " + std::to_string(per_node) + " " + device.name + " (assumed)";
  cluster.sources = {source_of(device, device.memory_source, "memory"),
                     source_of(device, device.node.source, "link"),
                     {"between nodes", Origin::kAssumed,
                      "50 GB/s per device between nodes (a 400 Gb/s card each), nothing shared; "
                      "latencies of 10 us "
                      "inside a node and 30 us between nodes",
                      ""}};
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
  inside.bandwidth = device.node.bandwidth;
  inside.source = 1;
  cluster.levels.push_back(inside);
  if (nodes > 1) {
    LinkLevel between;
    between.name = "between nodes";
    between.latency = kLatencyBetween;
    between.bandwidth = {kBetweenNodes};
    between.source = 2;
    cluster.levels.push_back(between);
  }
  return cluster;
}

}  // namespace penstock
