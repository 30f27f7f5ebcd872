// write_device_sheet() writes exactly what read_device_sheet() reads, in the order of the files in
// data/devices/.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "core/files/read_sources.h"
#include "core/values/device_sheet.h"

namespace penstock {
namespace {

Json write_peaks(const DeviceSheet& sheet) {
  Json peaks = Json::array();
  for (const PeakRate& peak : sheet.peaks) {
    peaks.push(Json::object()
                   .set("arithmetic", std::string(name_of(peak.arithmetic)))
                   .set("flops_per_s", peak.flops_per_s)
                   .set("source", id_of(sheet.sources, peak.source)));
  }
  return peaks;
}

Json write_network(const NodeNetwork& network, const std::string& source) {
  Json object = Json::object();
  object.set("bandwidth_bytes_per_s", network.bandwidth.value);
  if (network.shared_bandwidth.value > 0.0) {
    object.set("shared_bandwidth_bytes_per_s", network.shared_bandwidth.value);
  }
  return object.set("source", source);
}

Json write_host(const NodeHost& host, const std::string& source) {
  return Json::object()
      .set("memory_bytes", host.memory.count)
      .set("bandwidth_bytes_per_s", host.bandwidth.value)
      .set("devices_per_link", host.devices_per_link)
      .set("duplex", host.duplex)
      .set("source", source);
}

Json write_aliases(const DeviceSheet& sheet) {
  Json aliases = Json::array();
  for (const std::string& alias : sheet.aliases) aliases.push(alias);
  return aliases;
}

}  // namespace

Json write_device_sheet(const DeviceSheet& sheet) {
  const auto source = [&](int index) { return id_of(sheet.sources, index); };
  Json object = Json::object();
  object.set("format", "penstock.device/1").set("name", sheet.name);
  if (!sheet.aliases.empty()) object.set("aliases", write_aliases(sheet));
  object.set("generation", sheet.generation)
      .set("sources", write_sources(sheet.sources))
      .set("peaks", write_peaks(sheet))
      .set("memory_bytes", sheet.memory.count)
      .set("memory_source", source(sheet.memory_source))
      .set("memory_bandwidth_bytes_per_s", sheet.memory_bandwidth.value)
      .set("memory_bandwidth_source", source(sheet.memory_bandwidth_source));
  if (sheet.processors > 0) object.set("processors", sheet.processors);
  object.set("node", Json::object()
                         .set("devices", sheet.node.devices)
                         .set("link", sheet.node.name)
                         .set("bandwidth_bytes_per_s", sheet.node.bandwidth.value)
                         .set("source", source(sheet.node.source)));
  if (sheet.network) {
    object.set("network", write_network(*sheet.network, source(sheet.network->source)));
  }
  if (sheet.host) object.set("host", write_host(*sheet.host, source(sheet.host->source)));
  return object;
}

}  // namespace penstock
