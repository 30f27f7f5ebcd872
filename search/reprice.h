// The step time of a Program that is there already, at other prices: what calibrations move.
#pragma once

#include "core/values/cluster.h"
#include "core/values/executor_model.h"
#include "core/values/plan.h"
#include "core/values/profile.h"
#include "core/values/program.h"

namespace penstock {

// Of a plan that can be priced: `program` is its own.
Duration repriced_step(const Program& program, const Plan& plan, const ModelProfile& profile,
                       const ClusterSpec& cluster, const ExecutorModel& executor);

}  // namespace penstock
