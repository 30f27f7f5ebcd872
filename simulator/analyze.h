// What a Timeline says: makespan, spans, idle time by cause.
#pragma once

#include <vector>

#include "core/values/evaluation.h"
#include "core/values/executor_model.h"
#include "core/values/program.h"
#include "core/values/stage_prices.h"
#include "core/values/timeline.h"

namespace penstock {

// A rank's time runs from the start of its first compute action to the end of its last action.
struct TimelineSummary {
  Duration makespan{};         // last end - first start over all ranks
  Duration longest_span{};     // largest (last end - first start) of one rank
  Duration ideal{};            // busy time of the busiest rank
  std::vector<Duration> busy;  // compute time per rank, over all pipelines
  bool operator==(const TimelineSummary&) const = default;
};
TimelineSummary summarize(const Program& program, const Timeline& timeline);

// The same from the first start (SimTime::max() if it computes nothing), last end and busy time of
// every rank.
TimelineSummary summarize_ranks(const std::vector<SimTime>& first, const std::vector<SimTime>& last,
                                std::vector<Duration> busy);

// Attributes every idle nanosecond of every rank of the first `pipelines` by walking back from each
// action along what bound its start (see RankTime). The parts and busy sum to the makespan.
// `executor` is the one that `timeline` was simulated with.
std::vector<RankTime> attribute_idle(const Program& program, const Timeline& timeline,
                                     const ExecutorModel& executor = {}, int pipelines = 1);

}  // namespace penstock
