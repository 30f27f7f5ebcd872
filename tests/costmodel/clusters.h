// A cluster to work examples on: two levels with round numbers.
#pragma once

#include "core/values/cluster.h"

namespace penstock {

inline Duration us(double microseconds) {
  return Duration{static_cast<std::int64_t>(microseconds * 1000.0)};
}

// Nodes of 8 devices: 10 us and 300 GB/s inside; 30 us and 12.5 GB/s between nodes, where the
// devices of a node share 50 GB/s.
inline ClusterSpec eight_per_node(int nodes) {
  ClusterSpec cluster;
  cluster.name = "test";
  cluster.sources = {{"run", Origin::kMeasured, "", ""}};
  DeviceType device;
  device.name = "gpu";
  device.memory = {40'000'000'000};
  device.memory_bandwidth = {1e12};
  cluster.device_types = {device};
  cluster.node_types = {{"node", 0, 8}};
  cluster.nodes = {{0, nodes}};
  LinkLevel inside;
  inside.name = "nvlink";
  inside.devices = 8;
  inside.latency = us(10);
  inside.bandwidth = {300e9};
  LinkLevel between;
  between.name = "efa";
  between.latency = us(30);
  between.bandwidth = {12.5e9};
  between.shared_bandwidth = {50e9};
  cluster.levels = {inside, between};
  return cluster;
}

}  // namespace penstock
