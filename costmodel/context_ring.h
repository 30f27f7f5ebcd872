// What the ring of context parallelism adds to the times of a section, on a given cluster.
#pragma once

#include <string>
#include <vector>

#include "core/values/cluster.h"
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
               int context_degree);

  // Of one step: every rank waits for the slowest hop.
  [[nodiscard]] Duration step_time(Bytes bytes) const;
  // The outermost level that a hop uses; -1: there is no ring.
  [[nodiscard]] int level() const;
  // All steps of a ring that sends so much beside so much compute each: what shows of them.
  [[nodiscard]] Duration shown(Bytes bytes, Duration beside) const;

 private:
  const ClusterSpec& cluster_;
  int steps_;
  std::vector<Way> hops_;  // distinct ones
};

}  // namespace penstock
