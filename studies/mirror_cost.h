// What it costs that every rank's part of a checkpoint goes to another rank after every step
// (train --mirror): time, bytes and host memory.
#pragma once

#include "core/values/cluster.h"
#include "core/values/plan.h"
#include "core/values/profile.h"
#include "core/values/units.h"

namespace penstock {

struct MirrorCost {
  Bytes sent{};         // by the rank that sends most, in a step
  Bytes host_memory{};  // of the rank that needs most: two copies of its own and of another's part
  Duration time{};      // after every step, until the last copy has arrived
  int rank = 0;         // whose copy that is
};

// The plan has its cuts, and more than one rank; ranks are numbered as those of a job. Copies to
// and from a GPU's memory are not in the time: clusters do not say how fast they are.
MirrorCost mirror_cost(const ModelProfile& profile, const ClusterSpec& cluster, const Plan& plan);

}  // namespace penstock
