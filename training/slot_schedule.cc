#include "training/slot_schedule.h"

#include <algorithm>
#include <map>
#include <set>

namespace penstock {

bool SlotSchedule::has_norm() const {
  return std::ranges::find(actions, ActionKind::kNorm, &SlotAction::kind) != actions.end();
}

int SlotSchedule::passes() const {
  std::map<int, int> stores;
  int most = 1;
  for (const SlotAction& action : actions) {
    if (action.kind == ActionKind::kStore) most = std::max(most, ++stores[action.stage]);
  }
  return most;
}

bool SlotSchedule::updates_on_host() const {
  std::set<int> updated;
  for (const SlotAction& action : actions) {
    if (action.kind == ActionKind::kOptimizer) updated.insert(action.stage);
    if (action.kind == ActionKind::kLoad && updated.contains(action.stage)) return true;
  }
  return false;
}

// Those whose first action is not their LOAD (docs/schedules.md).
std::vector<int> SlotSchedule::residents() const {
  std::vector<int> there;
  std::set<int> seen;
  for (const SlotAction& action : actions) {
    if (action.kind == ActionKind::kNorm || !seen.insert(action.stage).second) continue;
    if (action.kind != ActionKind::kLoad) there.push_back(action.stage);
  }
  return there;
}

}  // namespace penstock
