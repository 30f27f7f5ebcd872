// A cluster of one device type when nobody describes one: nodes as in the datasheet, joined by its
// links, and the network between nodes that systems of that device have. Everything in it is marked
// as what it is. Bandwidths are what collectives get of the links.
#pragma once

#include <vector>

#include "core/values/cluster.h"
#include "core/values/device_sheet.h"

namespace penstock {

// Takes the place of the datasheet's network; its source is that somebody asked for it.
void set_network(DeviceSheet& device, NodeNetwork network);

// Nodes of so many devices, in place of the datasheet's: of smaller ones the host's memory is as
// much per device, and no more of them share a link to it than are there.
void set_node_size(DeviceSheet& device, int devices);

// One device's part of the network cards; an assumption where the datasheet has none.
double bandwidth_between_nodes(const DeviceSheet& device);

// At least `devices` devices: whole nodes, or one smaller node.
ClusterSpec default_cluster(const DeviceSheet& device, int devices);

struct CountedSheet {
  DeviceSheet device;
  int count = 1;
};
// Nodes of several device types, each as above, one type after the other: on every level a type has
// the links of its own datasheet, and between two types the slower counts. At least one type.
ClusterSpec default_cluster(const std::vector<CountedSheet>& devices);

}  // namespace penstock
