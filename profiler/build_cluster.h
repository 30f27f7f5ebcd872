// Measured links of one machine -> a ClusterSpec. costmodel/links.cc prices a transfer by the
// level's curve, a power law between two points, and a collective by the curve of its kind and
// number of participants where there is one; so tables go in as they were measured, with one
// exception that cluster files demand: times do not fall with the size. Where they did, the smaller
// message was disturbed and takes as long as the larger one, and a note says so.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/values/cluster.h"
#include "profiler/link_samples.h"

namespace penstock {

struct MachineToDescribe {
  std::string name;         // of the cluster
  std::string device;       // device type
  int devices = 1;          // ranks that the machine has room for
  Bytes memory_per_device;  // of a CPU: the machine's, divided by the ranks
  Bytes reserve;
  BytesPerSecond memory_bandwidth;
  std::optional<MeasuredExecutor> executor;
  std::string level;       // "gloo", "nccl": what joins them
  std::string provenance;  // who measured, where, when
};

struct BuiltCluster {
  ClusterSpec cluster;
  std::vector<std::string> notes;  // sentences
};

// Transfers one at a time, idle or under load; collectives likewise. Error{kBadInput} when there is
// no such sample of a transfer; a machine of one device needs none, and its cluster has no level.
BuiltCluster build_cluster(const MachineToDescribe& machine, const LinkSamples& samples,
                           bool under_load, LinkStatistic statistic);

}  // namespace penstock
