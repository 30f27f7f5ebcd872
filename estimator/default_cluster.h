// A cluster of one device type when nobody describes one: nodes as in the datasheet, joined by its
// links, and the network between nodes that systems of that device have. Everything in it is marked
// as what it is. Bandwidths are what collectives get of the links.
#pragma once

#include "core/values/cluster.h"
#include "core/values/device_sheet.h"

namespace penstock {

// One device's part of the network cards; an assumption where the datasheet has none.
double bandwidth_between_nodes(const DeviceSheet& device);

// At least `devices` devices: whole nodes, or one smaller node.
ClusterSpec default_cluster(const DeviceSheet& device, int devices);

}  // namespace penstock
