// Which rank of the job runs what: the placement of a plan as a formula.
#pragma once

#include "core/values/plan.h"

namespace penstock {

// The rank of the job, 0 to P D C T - 1, that is rank `pipeline_rank` of replica `replica`; of a
// tensor-parallel group its first.
inline int job_rank(const Plan& plan, int replica, int pipeline_rank) {
  const int place = plan.placement == Placement::kPipelineInner
                        ? replica * plan.pipeline + pipeline_rank
                        : pipeline_rank * plan.data + replica;
  return place * plan.devices_per_rank();
}

}  // namespace penstock
