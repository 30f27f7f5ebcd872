// What weight slots make an action of a rank wait for, for the checker's replay: private to
// check().
#pragma once

#include <cstddef>
#include <vector>

#include "core/check/check_parts.h"
#include "core/check/longest_path.h"

namespace penstock {

// Adds to `network` what the actions of rank `rank` follow because its stages live in slots;
// nothing where they do not. `list`: its actions in issue order, `nodes`: the node of each.
void follow_slots(const PlanFile& file, std::size_t rank, const std::vector<Action>& list,
                  const std::vector<LongestPath::Node>& nodes, LongestPath& network);

}  // namespace penstock
