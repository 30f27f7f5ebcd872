// A cluster of one device type when nobody describes one: nodes as in the datasheet, joined by its
// links, and 50 GB/s per device between nodes. Everything in it is marked as what it is.
#pragma once

#include "core/cluster.h"
#include "core/device_sheet.h"

namespace penstock {

// At least `devices` devices: whole nodes, or one smaller node.
ClusterSpec default_cluster(const DeviceSheet& device, int devices);

}  // namespace penstock
