// Local search on the order and the options of gangs. Private to multi/.
#pragma once

#include <optional>
#include <vector>

#include "multi/gang_search.h"

namespace penstock {

// Never worse than `order`. A task that runs may also stay (`running`: of every task, or empty).
std::vector<GangChoice> improve_gangs(const std::vector<GangTask>& tasks, const NodeSizes& nodes,
                                      std::vector<GangChoice> order,
                                      const std::vector<std::optional<RunningGang>>& running,
                                      const GangSearch& search);

}  // namespace penstock
