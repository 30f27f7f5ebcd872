#include "cli/reports/known_host.h"

#include "costmodel/host_updates.h"
#include "estimator/shipped_data.h"

namespace penstock {
namespace {

std::optional<KnownHost> host_of_cluster(const ClusterSpec& cluster, const std::string& device) {
  const std::optional<HostOfNode> host = host_of(cluster, device);
  if (!host) return std::nullopt;
  return KnownHost{*host, cluster.sources[static_cast<std::size_t>(host->source)].text};
}

std::optional<KnownHost> host_of_sheet(const DeviceSheet& sheet) {
  if (!sheet.host) return std::nullopt;
  const NodeHost& host = *sheet.host;
  const Source& source = sheet.sources[static_cast<std::size_t>(host.source)];
  return KnownHost{{host.memory, host.bandwidth, host.devices_per_link, host.duplex, 0},
                   source.text};
}

std::optional<KnownHost> host_of_shipped(const std::string& device) {
  for (const DeviceSheet& sheet : shipped_devices()) {
    if (sheet.is_called(device)) return host_of_sheet(sheet);
  }
  return std::nullopt;
}

}  // namespace

std::optional<KnownHost> known_host(const Question& question, const std::string& device) {
  if (auto host = host_of_cluster(question.cluster.value, device)) return host;
  if (question.estimated && question.estimated->device.name == device)
    return host_of_sheet(question.estimated->device);
  return host_of_shipped(device);
}

std::optional<KnownHost> known_host(const ClusterSpec& cluster, const std::string& device) {
  if (auto host = host_of_cluster(cluster, device)) return host;
  return host_of_shipped(device);
}

void use_hosts(Question& question) {
  ClusterSpec& cluster = question.cluster.value;
  for (NodeType& type : cluster.node_types) {
    const auto device = static_cast<std::size_t>(type.device_type);
    if (!type.host) {
      auto known = known_host(question, cluster.device_types[device].name);
      if (!known) continue;
      known->host.source = static_cast<int>(cluster.sources.size());
      cluster.sources.push_back({"host of " + type.name, Origin::kDatasheet, known->from, ""});
      type.host = known->host;
    }
    if (!type.host->duplex) question.executor.host_link = HostLink::kSimplex;
  }
}

}  // namespace penstock
