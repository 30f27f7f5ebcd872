// One function per object of penstock.cluster/1, and checks of what only makes sense together:
// names that are used exist, curves rise, levels grow, a device type has its own values only where
// it occurs. Every failure names file, line and place (JsonReader); unknown keys are refused.
// docs/file_formats.md describes the format.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/files/format.h"
#include "core/files/plan_parts.h"
#include "core/files/read_sources.h"
#include "core/values/json_reader.h"

namespace penstock {
namespace {

constexpr int kMostDevices = 10'000'000;

BytesPerSecond rate_of(const JsonReader& value) {
  using Limits = std::numeric_limits<double>;
  return {value.number(Limits::min(), Limits::max())};  // > 0
}

// Bytes ascend, times do not fall: a curve that falls would make a larger message the faster one.
std::vector<CurvePoint> read_curve(const JsonReader& array) {
  std::vector<CurvePoint> curve;
  for (JsonReader& element : array.elements()) {
    CurvePoint point;
    const JsonReader bytes = need(element, "bytes", "the size of the message");
    point.bytes = bytes.bytes();
    const Bytes before = curve.empty() ? Bytes{} : curve.back().bytes;
    if (point.bytes <= before) {
      bytes.expected("more bytes than " + std::to_string(before.count) + ", ascending");
    }
    point.time = element.duration("time");
    if (point.time <= Duration{}) element.fail("expected a time > 0, got 0");
    if (!curve.empty() && point.time < curve.back().time) {
      element.fail("expected a time of at least " + std::to_string(curve.back().time.count()) +
                   " ns, that of the smaller message before, got " +
                   std::to_string(point.time.count()) + " ns");
    }
    element.finish();
    curve.push_back(point);
  }
  if (curve.empty()) array.fail("expected at least one point {\"bytes\", \"time_ns\"}, got none");
  return curve;
}

class ClusterReader {
 public:
  explicit ClusterReader(JsonReader file) : file_(std::move(file)) {}

  ClusterSpec read() {
    read_format(file_, "penstock.cluster/1");
    cluster_.name = read_name(need(file_, "name", "the name of the cluster"));
    cluster_.sources = read_sources(file_, sources_);
    for (JsonReader& type : need_elements(file_, "device_types", "one type of device")) {
      cluster_.device_types.push_back(read_device_type(type));
    }
    for (JsonReader& type : need_elements(file_, "node_types", "one type of node")) {
      cluster_.node_types.push_back(read_node_type(type));
    }
    read_nodes();
    read_levels();
    if (const auto collectives = file_.get("collectives")) {
      for (JsonReader& element : collectives->elements()) {
        cluster_.collectives.push_back(read_collective(element));
      }
    }
    if (auto measured = file_.get("measured_executor")) {
      cluster_.measured_executor = read_measured(*measured);
    }
    if (const auto executor = file_.get("executor")) {
      cluster_.calibration = read_calibration(
          *executor, [this](const JsonReader& device) { (void)device_types_.resolve(device); });
    }
    file_.finish();
    return std::move(cluster_);
  }

 private:
  DeviceType read_device_type(JsonReader& object) {
    DeviceType type;
    type.name = device_types_.add(need(object, "name", "as measurements name it"));
    const JsonReader memory = need(object, "memory_bytes", "what the device reports as its total");
    type.memory = memory.bytes();
    if (type.memory <= Bytes{}) memory.expected("a number of bytes > 0");
    const JsonReader reserve =
        need(object, "reserve_bytes", "never planned for: context, allocator, NCCL's buffers");
    type.reserve = reserve.bytes();
    if (type.reserve >= type.memory) {
      reserve.expected("fewer bytes than memory_bytes, " + std::to_string(type.memory.count));
    }
    type.memory_bandwidth = rate_of(
        need(object, "memory_bandwidth_bytes_per_s", "what the optimizer step is priced from"));
    if (const auto price = object.get("usd_per_hour")) {
      type.usd_per_hour = price->number(0.0, 1e9);
    }
    type.source = sources_.resolve(object, "source", 0);
    object.finish();
    return type;
  }

  NodeType read_node_type(JsonReader& object) {
    NodeType type;
    type.name = node_types_.add(need(object, "name", "what nodes refer to this type by"));
    type.device_type =
        device_types_.resolve(need(object, "device_type", "the name of one of device_types"));
    type.devices = read_int(need(object, "devices", "how many one node has"), 1, kMostDevices);
    if (auto host = object.get("host")) type.host = read_host(*host, type.devices);
    object.finish();
    return type;
  }

  HostOfNode read_host(JsonReader& object, int devices) {
    HostOfNode host;
    const JsonReader memory = need(object, "memory_bytes", "of a node, for all its devices");
    host.memory = memory.bytes();
    if (host.memory <= Bytes{}) memory.expected("a number of bytes > 0");
    host.bandwidth = rate_of(
        need(object, "bandwidth_bytes_per_s", "between one device and the host, one direction"));
    if (const auto shared = object.get("devices_per_link")) {
      host.devices_per_link = read_int(*shared, 1, devices);
    }
    if (const auto duplex = object.get("duplex")) host.duplex = duplex->boolean();
    host.source = sources_.resolve(object, "source", 0);
    object.finish();
    return host;
  }

  void read_nodes() {
    for (JsonReader& element :
         need_elements(file_, "nodes", "{\"node_type\": .., \"count\": ..}")) {
      NodeGroup group;
      group.node_type =
          node_types_.resolve(need(element, "node_type", "the name of one of node_types"));
      group.count =
          read_int(need(element, "count", "how many nodes of this type"), 1, kMostDevices);
      element.finish();
      const NodeType& type = cluster_.node_types[static_cast<std::size_t>(group.node_type)];
      devices_ += std::int64_t{group.count} * type.devices;
      if (devices_ > kMostDevices) {
        element.fail("expected at most " + std::to_string(kMostDevices) +
                     " devices in the cluster, got " + std::to_string(devices_) +
                     " up to here; lower count");
      }
      cluster_.nodes.push_back(group);
    }
  }

  void read_levels() {
    const JsonReader array = need(file_, "levels", "how the devices are joined, innermost first");
    std::vector<JsonReader> elements = array.elements();
    if (elements.empty() && devices_ > 1) {
      array.fail("there is no link between the " + std::to_string(devices_) +
                 " devices; add a level, without \"devices\", that joins them all");
    }
    int inner = 1;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      cluster_.levels.push_back(read_level(elements[i], inner, i + 1 == elements.size()));
      inner = cluster_.levels.back().devices;
    }
  }

  LinkLevel read_level(JsonReader& object, int inner, bool last) {
    LinkLevel level;
    level.name = levels_.add(need(object, "name", "what collectives refer to this level by"));
    level.devices = read_span(object, inner, last);
    read_speed(object, level);
    level.source = sources_.resolve(object, "source", 0);
    if (const auto of_types = object.get("by_device_type")) {
      for (JsonReader& element : of_types->elements()) {
        level.of_types.push_back(read_link_of_type(element, level));
      }
    }
    object.finish();
    return level;
  }

  LinkOfType read_link_of_type(JsonReader& object, const LinkLevel& level) {
    LinkOfType link;
    const JsonReader type = need(object, "device_type", "the name of one of device_types");
    link.device_type = device_types_.resolve(type);
    for (const LinkOfType& other : level.of_types) {
      if (other.device_type == link.device_type) {
        type.fail("the values of '" + type.string() + "' were given before; keep one");
      }
    }
    read_speed(object, link);
    link.source = sources_.resolve(object, "source", level.source);
    object.finish();
    return link;
  }

  // How many devices one domain joins; 0, all, for the last level.
  static int read_span(JsonReader& object, int inner, bool last) {
    const std::optional<JsonReader> devices = object.get("devices");
    if (last) {
      if (devices) {
        devices->fail("the last level joins all devices; remove \"devices\", or add a level");
      }
      return 0;
    }
    if (!devices) {
      object.fail(
          "the key \"devices\" is missing here; add it: how many consecutive devices one domain "
          "joins (only the last level joins all)");
    }
    const int span = read_int(*devices, 1, kMostDevices);
    if (span <= inner || span % inner != 0) {
      devices->expected("a multiple of " + std::to_string(inner) +
                        ", what the level before joins, and more than it");
    }
    return span;
  }

  // Of a level, or of one device type on it.
  template <class Link>
  static void read_speed(JsonReader& object, Link& level) {
    if (const auto shared = object.get("shared_bandwidth_bytes_per_s")) {
      level.shared_bandwidth = rate_of(*shared);
    }
    const std::optional<Duration> latency = object.get_duration("latency");
    const std::optional<JsonReader> bandwidth = object.get("bandwidth_bytes_per_s");
    if (const auto curve = object.get("curve")) {
      if (latency || bandwidth) {
        curve->fail("a level has a curve or latency and bandwidth, not both; remove one");
      }
      level.curve = read_curve(*curve);
      return;
    }
    if (!latency || !bandwidth) {
      object.fail(
          "the speed of this level is missing; add \"latency_ns\" (or _us, _ms, _s) and "
          "\"bandwidth_bytes_per_s\", or a \"curve\"");
    }
    level.latency = *latency;
    level.bandwidth = rate_of(*bandwidth);
  }

  CollectiveCurve read_collective(JsonReader& object) {
    CollectiveCurve collective;
    collective.kind = read_collective_kind(object);
    collective.level = levels_.resolve(need(object, "level", "the name of one of levels"));
    const JsonReader participants = need(object, "participants", "how many devices take part");
    const int joined = cluster_.levels[static_cast<std::size_t>(collective.level)].devices;
    const auto most =
        static_cast<int>(joined == 0 ? devices_ : std::min<std::int64_t>(joined, devices_));
    collective.participants = read_int(participants, 2, kMostDevices);
    if (collective.participants > most) {
      participants.expected("at most " + std::to_string(most) +
                            " participants, what the level joins");
    }
    collective.curve = read_curve(need(object, "curve", "points of bytes and time"));
    collective.source = sources_.resolve(object, "source", 0);
    if (const auto type = object.get("device_type")) {
      collective.device_type = device_types_.resolve(*type);
    }
    object.finish();
    const std::tuple what(collective.kind, collective.level, collective.participants,
                          collective.device_type);
    if (!collectives_.insert(what).second) {
      object.fail(
          collective.device_type < 0
              ? "this kind, level and participants were given before; keep one"
              : "this kind, level, participants and device type were given before; keep one");
    }
    return collective;
  }

  MeasuredExecutor read_measured(JsonReader& object) {
    MeasuredExecutor executor;
    (void)read_int(need(object, "version", "1"), 1, 1);
    executor.trainer = read_name(need(object, "trainer", "whose runtime was measured"));
    executor.per_action = object.duration("per_action");
    executor.per_step = object.duration("per_step");
    const JsonReader messages =
        need(object, "messages", "{\"bytes\", \"send_ns\", \"receive_ns\"}");
    for (JsonReader& element : messages.elements()) {
      const JsonReader bytes = need(element, "bytes", "the size of the message");
      MessageCost message{bytes.bytes(), element.duration("send"), element.duration("receive")};
      if (!executor.messages.empty()) {
        const MessageCost& before = executor.messages.back();
        if (message.bytes <= before.bytes) {
          bytes.expected("more bytes than " + std::to_string(before.bytes.count) + ", ascending");
        }
        if (message.send < before.send || message.receive < before.receive) {
          element.fail("expected times no shorter than those of the smaller message before");
        }
      }
      element.finish();
      executor.messages.push_back(message);
    }
    executor.source = sources_.resolve(object, "source", 0);
    object.finish();
    return executor;
  }

  JsonReader file_;
  ClusterSpec cluster_;
  std::int64_t devices_ = 0;
  Names sources_{"source"};
  Names device_types_{"device type"};
  Names node_types_{"node type"};
  Names levels_{"level"};
  std::set<std::tuple<CollectiveKind, int, int, int>> collectives_;
};

}  // namespace

ClusterSpec read_cluster(const Json& json, const std::string& file) {
  return ClusterReader(JsonReader(json, file)).read();
}

}  // namespace penstock
