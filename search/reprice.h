// The step time of a plan that was evaluated, at other prices: what calibrations move.
#pragma once

#include "core/values/cluster.h"
#include "core/values/executor_model.h"
#include "core/values/profile.h"
#include "search/evaluate.h"

namespace penstock {

// Of a plan that could be priced, by an executor that issues in the same order. Where it was
// evaluated without its Program, its lists are replayed rolled up.
Duration repriced_step(const EvaluatedPlan& evaluated, const ModelProfile& profile,
                       const ClusterSpec& cluster, const ExecutorModel& executor);

}  // namespace penstock
