// attribute_idle() of rolled-up schedules: every idle nanosecond by its cause, exactly as walking
// over all actions says, in a time that does not grow with the micro-batches a jump went over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/values/evaluation.h"
#include "core/values/executor_model.h"
#include "core/values/program.h"
#include "core/values/timeline.h"
#include "simulator/rolled_timeline.h"

namespace penstock {

// The end of the step (simulate_schedule.cc): a Program whose first actions stand for the last
// weight gradient of every stage, and where in the rolled-up timelines those lie.
struct StepEnd {
  const Program& program;
  const Timeline& timeline;
  struct StandIn {
    std::size_t pipeline = 0;
    RolledNode node;
  };
  std::vector<StandIn> stand_ins;
  ExecutorModel copies{};  // whose copies share a lane or do not; its transfers have been replayed
};

// Of the ranks of the first `attributed` pipelines. `busy`: of every rank of the Program.
std::vector<RankTime> attribute_idle(const std::vector<RolledTimeline>& pipelines,
                                     const StepEnd& step_end, const std::vector<Duration>& busy,
                                     int attributed = 1);

}  // namespace penstock
