// What there is to run on: penstock.cluster/1. Devices are numbered 0..N-1, node by node. Levels
// describe how they are joined, innermost first: a level joins groups of the level below it, and
// follows the nodes (costmodel/device_layout.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/values/calibration.h"
#include "core/values/collective_kind.h"
#include "core/values/measured_executor.h"
#include "core/values/profile.h"
#include "core/values/units.h"

namespace penstock {

// A measured point of a link or a collective: this many bytes took this long.
struct CurvePoint {
  Bytes bytes;
  Duration time{};
  bool operator==(const CurvePoint&) const = default;
};

struct DeviceType {
  std::string name;
  Bytes memory;   // what the device reports as its total
  Bytes reserve;  // context, collectives' own buffers, allocator: never planned for
  BytesPerSecond memory_bandwidth;
  double usd_per_hour = 0.0;  // 0 when unknown
  int source = 0;             // index into ClusterSpec::sources
  Bytes limited_from{};       // what it has, where plans may take only `memory` of it; 0: all
  bool operator==(const DeviceType&) const = default;
};

// The host of a node: where stages are kept that are not on a device.
struct HostOfNode {
  Bytes memory;              // for all devices of the node together
  BytesPerSecond bandwidth;  // between one device and it, one direction
  int devices_per_link = 1;  // consecutive devices that share that bandwidth
  bool duplex = true;        // both directions at once, each at that bandwidth
  int source = 0;            // index into ClusterSpec::sources
  bool operator==(const HostOfNode&) const = default;
};

struct NodeType {
  std::string name;
  int device_type = 0;                            // index into ClusterSpec::device_types
  int devices = 1;                                // per node
  std::optional<HostOfNode> host = std::nullopt;  // absent: nothing is known, nothing is kept there
  bool operator==(const NodeType&) const = default;
};

struct NodeGroup {
  int node_type = 0;  // index into ClusterSpec::node_types
  int count = 1;
  bool operator==(const NodeGroup&) const = default;
};

// What a level is on devices of one type, in place of the level's own values: NVLink in one kind of
// node, PCIe in another.
struct LinkOfType {
  int device_type = 0;            // index into ClusterSpec::device_types
  std::vector<CurvePoint> curve;  // as of a level, likewise the rest
  Duration latency{};
  BytesPerSecond bandwidth;
  BytesPerSecond shared_bandwidth;
  int source = 0;
  bool operator==(const LinkOfType&) const = default;
};

// One level of the interconnect. A transfer between two devices uses the innermost level that
// spans both. Either a measured curve, or latency and bandwidth.
struct LinkLevel {
  std::string name;
  int devices = 0;  // how many consecutive devices one domain of this level joins; 0: all
  std::vector<CurvePoint> curve;  // one-way point-to-point, ascending bytes; may be empty
  Duration latency{};
  BytesPerSecond bandwidth;  // of one device to another
  // What all devices of one domain of the level below share on their way into this level (the
  // network cards of a node); 0: nothing is shared.
  BytesPerSecond shared_bandwidth;
  int source = 0;
  std::vector<LinkOfType> of_types{};  // types with values of their own, each once
  bool operator==(const LinkLevel&) const = default;
};

// A measured collective among `participants` devices, `participants_per_domain` of them in each
// domain of the level below `level`; bytes are those of the full buffer on one rank.
struct CollectiveCurve {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  int level = 0;
  int participants = 2;
  std::vector<CurvePoint> curve;
  int source = 0;
  // All participants are of this type; -1: of the types that have no values of their own on the
  // level.
  int device_type = -1;
  bool operator==(const CollectiveCurve&) const = default;
};

struct ClusterSpec {
  std::string name;
  std::vector<Source> sources;
  std::vector<DeviceType> device_types;
  std::vector<NodeType> node_types;
  std::vector<NodeGroup> nodes;
  std::vector<LinkLevel> levels;  // innermost first; the last one spans all devices
  std::vector<CollectiveCurve> collectives;
  // What was fitted to runs here. price_stages() applies its factors of transfers and reductions;
  // those of compute are in the profile that calibrated_profile() makes.
  std::optional<Calibration> calibration = std::nullopt;
  // What steps of one trainer were measured to cost besides. Where it is_priced, price_stages()
  // adds messages to the compute of the ranks that take part in them.
  std::optional<MeasuredExecutor> measured_executor = std::nullopt;
  bool operator==(const ClusterSpec&) const = default;
};

const NodeType& type_of(const ClusterSpec& cluster, const NodeGroup& group);
// Nothing when the cluster has no such type.
const DeviceType* find_device_type(const ClusterSpec& cluster, const std::string& name);

// Total number of devices.
int device_count(const ClusterSpec& cluster);

// Of the cluster's calibration, when it is one of this device type; else neutral.
PriceFactors factors_for(const ClusterSpec& cluster, const std::string& device);

}  // namespace penstock
