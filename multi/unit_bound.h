// What no schedule of units on so many GPUs can beat.
#pragma once

#include <algorithm>
#include <vector>

#include "multi/unit_task.h"

namespace penstock {

struct UnitBound {
  Duration longest_task{};  // its first load and its compute: units of a task do not overlap
  Duration work{};          // all compute over min(GPUs, tasks), behind the shortest first load
  Duration copies{};        // that cannot be avoided with two slots a GPU, over all links

  [[nodiscard]] Duration makespan() const { return std::max({longest_task, work, copies}); }
  bool operator==(const UnitBound&) const = default;
};

UnitBound unit_bound(const std::vector<UnitTask>& tasks, int gpus, const HostLinks& links = {});

}  // namespace penstock
