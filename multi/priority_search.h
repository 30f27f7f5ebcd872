// Sharded-LRTF with other priorities, found by seeded local search: longest remaining time is a
// good rule, and not always the best one.
#pragma once

#include <cstdint>
#include <vector>

#include "multi/replay_units.h"
#include "multi/schedule_value.h"

namespace penstock {

struct PrioritySearch {
  std::uint64_t seed = 1;
  int most_tries = 2000;
  std::int64_t most_executions = 100'000;  // of units, over all replays
  Duration bound{};                        // where nothing is late, a makespan of this ends it
};

struct FoundPriorities {
  UnitRules rules;
  ScheduleValue value;
};
// Begins with Sharded-LRTF, so that the result is never worse. `wishes`: of every task.
FoundPriorities search_priorities(const std::vector<UnitTask>& tasks, int gpus,
                                  const HostLinks& links, const std::vector<Wishes>& wishes,
                                  const PrioritySearch& search = {});

}  // namespace penstock
