#include "multi/unit_task.h"

#include <algorithm>

namespace penstock {

int UnitTask::shards() const {
  int most = 0;
  for (const TaskUnit& unit : units) most = std::max(most, unit.shard);
  return most + 1;
}

Duration UnitTask::compute() const {
  Duration of_step{};
  for (const TaskUnit& unit : units) of_step += unit.compute;
  return of_step * steps;
}

std::vector<TaskUnit> units_of_shards(const std::vector<ShardTimes>& shards) {
  std::vector<TaskUnit> units;
  const int count = static_cast<int>(shards.size());
  for (int s = 0; s + 1 < count; ++s) {
    const ShardTimes& shard = shards[static_cast<std::size_t>(s)];
    units.push_back({s, shard.forward, shard.load, Duration{}});
  }
  for (int s = count - 1; s >= 0; --s) {
    const ShardTimes& shard = shards[static_cast<std::size_t>(s)];
    const Duration forward = s + 1 == count ? shard.forward : Duration{};
    units.push_back({s, forward + shard.backward, shard.load, shard.store});
  }
  return units;
}

}  // namespace penstock
