// What context parallelism adds to the times of a section, on a given cluster: a ring beside
// attention, or collectives before and behind it.
#pragma once

#include <string>
#include <vector>

#include "core/values/cluster.h"
#include "core/values/other_degrees.h"
#include "core/values/profile.h"
#include "core/values/units.h"
#include "costmodel/links.h"

namespace penstock {

// How the rings of a device type lie: every T C consecutive devices hold one sequence, the ranks
// of one ring T devices apart, and all rings send at once.
class ContextRings {
 public:
  // Keeps the cluster by reference.
  ContextRings(const ClusterSpec& cluster, const std::string& device, int tensor_degree,
               const OtherDegrees& others);

  [[nodiscard]] ContextKind kind() const { return kind_; }
  // All ranks of a group send this to all others; the other way round in a backward.
  [[nodiscard]] Duration gather_time(Bytes of_a_rank) const;
  [[nodiscard]] Duration scatter_time(Bytes of_a_rank) const;
  // Every rank sends an equal part of this to each rank of its group.
  [[nodiscard]] Duration exchanged_time(Bytes of_a_rank) const;

  // C - 1.
  [[nodiscard]] int steps() const { return steps_; }
  // Of one step: every rank waits for the slowest hop.
  [[nodiscard]] Duration step_time(Bytes bytes) const;
  // The outermost level that a hop uses; -1: there is no ring.
  [[nodiscard]] int level() const;
  // All steps of a ring that sends so much beside so much compute each: what shows of them.
  [[nodiscard]] Duration shown(Bytes bytes, Duration beside) const;

 private:
  const ClusterSpec& cluster_;
  [[nodiscard]] Duration slowest(CollectiveKind kind, Bytes of_a_rank) const;

  int steps_;
  ContextKind kind_;
  std::vector<Way> hops_;  // distinct ones
  std::vector<GroupShape> groups_;
  int stride_;
};

}  // namespace penstock
