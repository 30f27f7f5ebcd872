// What a datasheet says of one device: penstock.device/1. Peak rates are dense (no sparsity) and
// links count one direction; every figure names its source.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/values/json.h"
#include "core/values/profile.h"
#include "core/values/units.h"

namespace penstock {

// How numbers are multiplied, as the files and options write it.
// In 8 bits only the products of layers are multiplied; everything else is bfloat16.
enum class Arithmetic { kBFloat16, kFloat16, kTensorFloat32, kFloat32, kFloat8 };
// Of what lies between products: 2 or 4.
int bytes_of(Arithmetic arithmetic);
std::string_view name_of(Arithmetic arithmetic);  // "bfloat16", "tensorfloat32"
// Also the short names: bf16, fp16, tf32, fp32, fp8.
std::optional<Arithmetic> arithmetic_named(std::string_view name);

struct PeakRate {
  Arithmetic arithmetic = Arithmetic::kBFloat16;
  double flops_per_s = 0.0;
  int source = 0;  // index into DeviceSheet::sources
  bool operator==(const PeakRate&) const = default;
};

// How the devices of one node are joined, when nothing else is known.
struct NodeLink {
  int devices = 8;             // of a node
  std::string name;            // "nvlink4"
  BytesPerSecond bandwidth{};  // of one device, one direction
  int source = 0;
  bool is_asked = false;  // somebody said how many devices, in place of the datasheet
  bool operator==(const NodeLink&) const = default;
};

// How nodes are joined in the systems that this device is sold in.
struct NodeNetwork {
  BytesPerSecond bandwidth{};  // of one device's part of the node's cards, one direction
  int source = 0;
  // What the devices of a node share of its cards; 0: each has its own part, and no more.
  BytesPerSecond shared_bandwidth{};
  std::string asked{};  // in place of the datasheet's, as somebody wrote it: "200Gb/s"; else empty
  bool operator==(const NodeNetwork&) const = default;
};

// The host of such a node.
struct NodeHost {
  Bytes memory;
  BytesPerSecond bandwidth{};  // of one device to or from it
  int devices_per_link = 1;    // that share it
  bool duplex = true;          // both directions at once
  int source = 0;
  bool operator==(const NodeHost&) const = default;
};

struct DeviceSheet {
  std::string name;
  std::vector<std::string> aliases;
  std::string generation;  // "hopper": what fitted efficiencies are looked up by
  std::vector<Source> sources;
  std::vector<PeakRate> peaks;
  Bytes memory;
  int memory_source = 0;
  BytesPerSecond memory_bandwidth{};
  int memory_bandwidth_source = 0;
  // That multiply matrices tile by tile ("streaming multiprocessors"); 0: not known.
  int processors = 0;
  NodeLink node{};
  std::optional<NodeNetwork> network{};  // absent: nothing is known
  std::optional<NodeHost> host{};        // likewise
  bool operator==(const DeviceSheet&) const = default;

  // Nothing when the device has no such arithmetic.
  [[nodiscard]] const PeakRate* peak(Arithmetic arithmetic) const;
  // By name or alias, whatever the case of letters; never by a part of it, since "h20" is in
  // "h200".
  [[nodiscard]] bool is_called(std::string_view name) const;
};

// Error{kBadInput} with file, line, path, value and remedy.
DeviceSheet read_device_sheet(const Json& json, const std::string& file);
// Exactly what read_device_sheet() reads.
Json write_device_sheet(const DeviceSheet& sheet);

}  // namespace penstock
