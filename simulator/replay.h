// The straight replay: one pass over the actions in stored order. Exact for every executor model in
// which transfers occupy nothing (asynchronous, no queues, no gates); fixed costs are allowed.
#pragma once

#include "core/executor_model.h"
#include "core/timeline.h"
#include "simulator/analyze.h"

namespace penstock {

bool straight_replay_is_exact(const ExecutorModel& executor);

Timeline replay(const Program& program, const StagePrices& prices, const ExecutorModel& executor);

// Only the summary: what a search needs, without storing starts.
TimelineSummary replay_summary(const Program& program, const StagePrices& prices,
                               const ExecutorModel& executor);

}  // namespace penstock
