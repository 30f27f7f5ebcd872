// Better lists near given ones, for short pipelines: where a list scheduler decides action by
// action, this looks at whole lists and moves single actions.
#pragma once

#include "simulator/schedules/split_lists.h"
#include "simulator/schedules/stage_costs.h"

namespace penstock {

// Lists that are no longer, by the costs, and stay within their limits; `lists` must fit them.
SplitLists shorten_lists(SplitLists lists, const StageCosts& costs);

}  // namespace penstock
