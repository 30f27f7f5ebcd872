// Timeline + prices + liveness -> Evaluation: what evaluate(), the search and a replayed plan file
// share.
#pragma once

#include <optional>
#include <vector>

#include "core/evaluation.h"
#include "core/executor_model.h"
#include "core/program.h"
#include "core/stage_prices.h"
#include "core/timeline.h"
#include "simulator/analyze.h"

namespace penstock {

// What a step takes: the makespan, or the longest span when nothing stands between a rank's
// optimizer and its next step.
Duration step_time_of(const TimelineSummary& summary, const ExecutorModel& executor);

double usd_per_step(Duration step_time, int devices, double usd_per_hour);

// Everything but the assumptions. `uncertainty` is the relative half-width of the interval.
Evaluation evaluation_of(const Program& program, const StagePrices& prices,
                         const Timeline& timeline, const ExecutorModel& executor, Bytes capacity,
                         Bytes reserve, double uncertainty);

// The rank that is over its capacity by most, counted by its role; nothing when all fit.
std::optional<Rejection> over_memory(const std::vector<MemoryUse>& ranks, int chunks,
                                     Bytes capacity);

}  // namespace penstock
