// What a Timeline says: makespan, spans, idle time by cause.
#pragma once

#include <vector>

#include "core/evaluation.h"
#include "core/program.h"
#include "core/stage_prices.h"
#include "core/timeline.h"

namespace penstock {

struct TimelineSummary {
  Duration makespan{};      // last end - first start over all ranks
  Duration longest_span{};  // largest (last end - first start) of one rank
  Duration ideal{};         // busy time of the busiest rank
  std::vector<Duration> busy;  // compute time per rank, over all pipelines
};
TimelineSummary summarize(const Program& program, const Timeline& timeline);

// Attributes every idle nanosecond of every rank of the first pipeline by walking back from each
// action along what bound its start (see RankTime).
std::vector<RankTime> attribute_idle(const Program& program, const Timeline& timeline);

}  // namespace penstock
