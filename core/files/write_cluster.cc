// write_cluster() writes exactly what read_cluster() reads.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/files/format.h"
#include "core/files/plan_parts.h"
#include "core/files/read_sources.h"

namespace penstock {
namespace {

Json write_device_type(const DeviceType& type, const std::vector<Source>& sources) {
  Json object = Json::object();
  object.set("name", type.name)
      .set("memory_bytes", type.memory.count)
      .set("reserve_bytes", type.reserve.count)
      .set("memory_bandwidth_bytes_per_s", type.memory_bandwidth.value);
  if (type.usd_per_hour != 0.0) object.set("usd_per_hour", type.usd_per_hour);
  object.set("source", id_of(sources, type.source));
  return object;
}

Json write_curve(const std::vector<CurvePoint>& curve) {
  Json array = Json::array();
  for (const CurvePoint& point : curve) {
    array.push(Json::object()
                   .set("bytes", point.bytes.count)
                   .set("time_ns", std::int64_t{point.time.count()}));
  }
  return array;
}

// Of a level, or of one device type on it.
template <class Link>
void set_speed(Json& object, const Link& level) {
  if (level.curve.empty()) {
    object.set("latency_ns", std::int64_t{level.latency.count()})
        .set("bandwidth_bytes_per_s", level.bandwidth.value);
  } else {
    object.set("curve", write_curve(level.curve));
  }
  if (level.shared_bandwidth.value != 0.0) {
    object.set("shared_bandwidth_bytes_per_s", level.shared_bandwidth.value);
  }
}

Json write_level(const LinkLevel& level, const ClusterSpec& cluster) {
  Json object = Json::object();
  object.set("name", level.name);
  if (level.devices != 0) object.set("devices", level.devices);
  set_speed(object, level);
  object.set("source", id_of(cluster.sources, level.source));
  if (level.of_types.empty()) return object;
  Json of_types = Json::array();
  for (const LinkOfType& link : level.of_types) {
    Json of_type = Json::object();
    of_type.set("device_type",
                cluster.device_types[static_cast<std::size_t>(link.device_type)].name);
    set_speed(of_type, link);
    of_types.push(of_type.set("source", id_of(cluster.sources, link.source)));
  }
  return object.set("by_device_type", std::move(of_types));
}

Json write_collective(const CollectiveCurve& collective, const ClusterSpec& cluster) {
  const LinkLevel& level = cluster.levels[static_cast<std::size_t>(collective.level)];
  Json object = Json::object();
  object.set("kind", std::string(name_of(collective.kind)))
      .set("level", level.name)
      .set("participants", collective.participants);
  if (collective.device_type >= 0) {
    object.set("device_type",
               cluster.device_types[static_cast<std::size_t>(collective.device_type)].name);
  }
  object.set("curve", write_curve(collective.curve))
      .set("source", id_of(cluster.sources, collective.source));
  return object;
}

Json write_host(const HostOfNode& host, const std::vector<Source>& sources) {
  Json object = Json::object();
  object.set("memory_bytes", host.memory.count)
      .set("bandwidth_bytes_per_s", host.bandwidth.value)
      .set("devices_per_link", host.devices_per_link)
      .set("duplex", host.duplex);
  return object.set("source", id_of(sources, host.source));
}

Json write_node_types(const ClusterSpec& cluster) {
  Json array = Json::array();
  for (const NodeType& type : cluster.node_types) {
    const DeviceType& device = cluster.device_types[static_cast<std::size_t>(type.device_type)];
    Json object = Json::object();
    object.set("name", type.name).set("device_type", device.name).set("devices", type.devices);
    if (type.host) object.set("host", write_host(*type.host, cluster.sources));
    array.push(std::move(object));
  }
  return array;
}

Json write_nodes(const ClusterSpec& cluster) {
  Json array = Json::array();
  for (const NodeGroup& group : cluster.nodes) {
    const NodeType& type = cluster.node_types[static_cast<std::size_t>(group.node_type)];
    array.push(Json::object().set("node_type", type.name).set("count", group.count));
  }
  return array;
}

Json write_measured(const MeasuredExecutor& executor, const std::vector<Source>& sources) {
  Json messages = Json::array();
  for (const MessageCost& message : executor.messages) {
    messages.push(Json::object()
                      .set("bytes", message.bytes.count)
                      .set("send_ns", std::int64_t{message.send.count()})
                      .set("receive_ns", std::int64_t{message.receive.count()}));
  }
  return Json::object()
      .set("version", 1)
      .set("trainer", executor.trainer)
      .set("per_action_ns", std::int64_t{executor.per_action.count()})
      .set("per_step_ns", std::int64_t{executor.per_step.count()})
      .set("messages", std::move(messages))
      .set("source", id_of(sources, executor.source));
}

}  // namespace

Json write_cluster(const ClusterSpec& cluster) {
  Json device_types = Json::array();
  for (const DeviceType& type : cluster.device_types) {
    device_types.push(write_device_type(type, cluster.sources));
  }
  Json levels = Json::array();
  for (const LinkLevel& level : cluster.levels) levels.push(write_level(level, cluster));
  Json file = Json::object();
  file.set("format", "penstock.cluster/1")
      .set("name", cluster.name)
      .set("sources", write_sources(cluster.sources))
      .set("device_types", std::move(device_types))
      .set("node_types", write_node_types(cluster))
      .set("nodes", write_nodes(cluster))
      .set("levels", std::move(levels));
  if (!cluster.collectives.empty()) {
    Json collectives = Json::array();
    for (const CollectiveCurve& collective : cluster.collectives) {
      collectives.push(write_collective(collective, cluster));
    }
    file.set("collectives", std::move(collectives));
  }
  if (cluster.measured_executor) {
    file.set("measured_executor", write_measured(*cluster.measured_executor, cluster.sources));
  }
  if (cluster.calibration) file.set("executor", write_calibration(*cluster.calibration));
  return file;
}

}  // namespace penstock
