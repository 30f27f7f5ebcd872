// One step of a spilled plan before the run, with less of the device than it has: what the plan
// says of memory is tried where it counts. Its weights are thrown away. All micro-batches of a plan
// have one shape, so a step tries the largest. Private to this folder.
#pragma once

#include "core/values/plan_file.h"
#include "core/values/units.h"
#include "runtime_bridge/train_options.h"
#include "training/token_source.h"

namespace penstock {

struct PilotStep {
  Bytes peak;  // of the device
  Bytes room;  // that it was given
  Duration time{};
};

// `margin`: the share of the device beyond its reserve that is kept free, from 0 up to 1.
// Error{kMissingResource} where the step does not fit, with what to plan for instead.
PilotStep pilot_step(const PlanFile& plan, const TrainOptions& options, const TokenSource& data,
                     int local_rank, double margin);

}  // namespace penstock
