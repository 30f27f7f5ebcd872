#include "profiler/build_cluster.h"

#include <set>
#include <utility>

#include "core/values/error.h"
#include "core/values/rising_curve.h"

namespace penstock {
namespace {

std::string words_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return "all-reduce";
    case CollectiveKind::kReduceScatter:
      return "reduce-scatter";
    case CollectiveKind::kAllGather:
      return "all-gather";
  }
  return "";
}

// Times that do not fall. One note per curve.
std::vector<CurvePoint> rising(std::vector<CurvePoint> curve, const std::string& what,
                               std::vector<std::string>& notes) {
  const std::string lowered = lower_to_larger(curve);
  if (!lowered.empty()) notes.push_back(what + ": " + lowered);
  return curve;
}

DeviceType device_of(const MachineToDescribe& machine) {
  DeviceType type;
  type.name = machine.device;
  type.memory = machine.memory_per_device;
  type.reserve = machine.reserve;
  type.memory_bandwidth = machine.memory_bandwidth;
  return type;
}

}  // namespace

BuiltCluster build_cluster(const MachineToDescribe& machine, const LinkSamples& samples,
                           bool under_load, LinkStatistic statistic) {
  BuiltCluster built;
  ClusterSpec& cluster = built.cluster;
  cluster.name = machine.name;
  cluster.sources = {
      {.id = "run", .origin = Origin::kMeasured, .text = machine.provenance, .licence = ""}};
  cluster.device_types = {device_of(machine)};
  cluster.node_types = {{.name = machine.name, .device_type = 0, .devices = machine.devices}};
  cluster.nodes = {{.node_type = 0, .count = 1}};
  if (machine.devices == 1 && samples.links.empty()) return built;
  LinkLevel level;
  level.name = machine.level;
  level.curve = rising(curve_of(samples, LinkPattern::kAlone, under_load, statistic), machine.level,
                       built.notes);
  if (level.curve.empty()) {
    throw_bad_input("no transfer between two ranks was measured" +
                    std::string(under_load ? " under load" : "") +
                    "\nhelp: give --links a larger --budget");
  }
  cluster.levels = {std::move(level)};
  cluster.measured_executor = machine.executor;
  std::set<std::pair<CollectiveKind, int>> kinds;
  for (const CollectiveSample& sample : samples.collectives) {
    if (sample.under_load == under_load) kinds.insert({sample.kind, sample.participants});
  }
  for (const auto& [kind, participants] : kinds) {
    CollectiveCurve collective;
    collective.kind = kind;
    collective.participants = participants;
    collective.curve = rising(curve_of(samples, kind, participants, under_load, statistic),
                              words_of(kind) + " of " + std::to_string(participants), built.notes);
    if (!collective.curve.empty()) cluster.collectives.push_back(std::move(collective));
  }
  return built;
}

}  // namespace penstock
