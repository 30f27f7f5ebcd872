// Automatic zero-bubble schedules on one stage per rank, from per-stage costs and memory limits.
#pragma once

#include <string>
#include <vector>

#include "core/values/schedule.h"
#include "simulator/schedules/stage_costs.h"
#include "simulator/schedules/zb_heuristic.h"

namespace penstock {

struct AutomaticLists {
  std::vector<std::vector<ComputeAction>> lists;  // per rank; empty when nothing fits
  Duration span{0};  // of these lists in the DAG model (the makespan where that is to be short)
  bool is_beaten = false;  // all that was tried takes as long as what is to be beaten: no lists
  std::string why_not;     // which stage needs more memory, how much, and what would do
};

// ZB-1p and ZB-2p as published: the shortest span of the heuristic's eight variants under the very
// limits (P and 2P activations; any others will do).
AutomaticLists zb_published(const StageCosts& costs, int micro_batches);

// The shortest of: those for the limits rounded down to a ladder of whole activations and for every
// lower rung; further variants of the heuristic and list scheduling for the same rungs; and 1F1B,
// ZB-H1 and ZB-H2 where they fit. So it is never longer than these three. As many bytes more
// on every rank never make it longer (of at most 128 ranks times micro-batches; of more, as many
// activations more on ranks that hold as many). On ties the published order of the variants
// decides.
AutomaticLists zb_auto(const StageCosts& costs, int micro_batches);

}  // namespace penstock
