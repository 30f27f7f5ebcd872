// From the lists of a file back to a Program: what every action waits for, by kind and tables, and
// one order over all ranks in which every action comes after it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/values/program.h"

namespace penstock {

// The lists of all ranks, one after the other. An action's waits_for is not set; one that overlaps
// the next has a next on its rank.
struct ActionLists {
  std::vector<Action> actions;
  std::vector<std::size_t> begin;  // ranks + 1 offsets into actions
  // Positions, in any order; order_actions() adds those that follow from the rules.
  std::vector<Wait> more_waits;
};

// One more that an action needs; the first that has no other is its waits_for. Not twice the same.
inline void add_wait(ActionLists& lists, Wait wait) {
  Action& action = lists.actions[wait.action];
  if (action.waits_for == wait.needs) return;
  if (action.waits_for == kWaitsForNothing && !wait.listed) {
    action.waits_for = wait.needs;
    return;
  }
  for (auto known = lists.more_waits.rbegin(); known != lists.more_waits.rend(); ++known) {
    if (known->action != wait.action) break;
    if (known->needs == wait.needs) return;
  }
  lists.more_waits.push_back(wait);
}

// Sets every waits_for to a position in the lists: by the rules of docs/file_formats.md, one action
// besides the predecessor on the rank. Returns what is wrong when no list holds that action.
[[nodiscard]] std::string set_waits_for(const Program& program, ActionLists& lists);

// Fills program.actions; every other member of `program` is set. Round after round over the ranks,
// each appends its next action (of an OVERLAP both members) if what that waits for has been
// appended; a send takes its receive along when that is the receiver's next action. A collective
// counts as appended when all members of its group are. Returns what is wrong, empty when all is
// well: an action that waits for one that no list holds, or the actions that wait for each other.
[[nodiscard]] std::string order_actions(Program& program, ActionLists lists);

}  // namespace penstock
