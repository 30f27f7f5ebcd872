// Tasks of the tests, in seconds.
#pragma once

#include <string>
#include <vector>

#include "multi/unit_task.h"

namespace penstock::tests {

// Units of so many seconds, each on a shard of its own, without copies.
inline UnitTask task_of(std::string name, const std::vector<int>& seconds, std::int64_t steps = 1) {
  UnitTask task{std::move(name), {}, steps};
  for (const int each : seconds) {
    task.units.push_back({static_cast<int>(task.units.size()), std::chrono::seconds(each), {}, {}});
  }
  return task;
}

// The example of Sharded-LRTF in docs/multi.md: A 1, 3, 2 twice; B the same once; C 4 twice.
inline std::vector<UnitTask> three_tasks() {
  return {task_of("A", {1, 3, 2}, 2), task_of("B", {1, 3, 2}), task_of("C", {4}, 2)};
}

// Four shards, F = 0.2 s, B = 0.6 s, a load 1/3 s; copies back take no time.
inline UnitTask spilled(int shards, std::int64_t steps, Duration load = Duration{333'333'333},
                        Duration store = {}) {
  const Duration forward{200'000'000}, backward{600'000'000};
  std::vector<ShardTimes> times(static_cast<std::size_t>(shards), {forward, backward, load, store});
  return {"spilled", units_of_shards(times), steps};
}

}  // namespace penstock::tests
