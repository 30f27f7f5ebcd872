// The shortest schedule of gangs there is, by branch and bound: of up to six models on nodes of
// which each has the GPUs for every option.
#pragma once

#include "multi/gang.h"

namespace penstock::testing {

GangSchedule shortest_gangs(const std::vector<GangTask>& tasks, const NodeSizes& nodes);

}  // namespace penstock::testing
