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

// The pipeline rank that the rank of the job is of.
inline int pipeline_rank_of(const Plan& plan, int rank_of_job) {
  const int place = rank_of_job / plan.devices_per_rank();
  return plan.placement == Placement::kPipelineInner ? place % plan.pipeline : place / plan.data;
}

}  // namespace penstock
