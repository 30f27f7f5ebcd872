// A step without a model: what a schedule does with given costs, as a trace that viewers and
// pictures show.
#pragma once

#include "core/values/executor_model.h"
#include "core/values/plan_file.h"
#include "core/values/program.h"
#include "core/values/stage_prices.h"
#include "core/values/timeline.h"
#include "report/schedule_report.h"
#include "report/traces/step_trace.h"

namespace penstock {

struct SyntheticStep {
  PlanFile file;  // of one replica, on devices of which nothing is known
  // Its memory counts activations: one for every chunk and slice that is held.
  StepTrace trace;
  std::int64_t held_per_micro_batch = 1;  // of those that a whole rank holds of one micro-batch
};

SyntheticStep step_of(const Program& program, const Timeline& timeline, const StagePrices& prices,
                      const ExecutorModel& executor, const ScheduleResult& result);

}  // namespace penstock
