// A task among several that share GPUs: a model whose training step is a list of units, one shard
// each, that run one after the other. Any unit may run on any GPU; the shard follows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/values/units.h"

namespace penstock {

// Longer copies of one shard are no shards that anybody has; sums stay within 64 bits.
inline constexpr Duration kLongestCopy = std::chrono::seconds(1000);

struct TaskUnit {
  int shard = 0;       // of the task, from 0
  Duration compute{};  // on one GPU
  Duration load{};     // of the shard from the host, where the GPU does not hold it
  Duration store{};    // of what the unit changed, back to the host; 0: it changes nothing
  bool operator==(const TaskUnit&) const = default;
};

struct UnitTask {
  std::string name;
  std::vector<TaskUnit> units;  // of one step, never empty
  std::int64_t steps = 1;
  // What a unit changes is updated on the host: the slot where it ran has the old form.
  bool is_updated_on_host = false;

  [[nodiscard]] std::int64_t executions() const {
    return steps * static_cast<std::int64_t>(units.size());
  }
  [[nodiscard]] const TaskUnit& unit(std::int64_t execution) const {
    return units[static_cast<std::size_t>(execution % static_cast<std::int64_t>(units.size()))];
  }
  [[nodiscard]] int shards() const;        // one more than the largest
  [[nodiscard]] Duration compute() const;  // of all steps
  bool operator==(const UnitTask&) const = default;
};

// How the GPUs of a machine reach its memory.
struct HostLinks {
  int gpus_per_link = 1;  // consecutive ones, which share its bandwidth equally
  bool duplex = true;     // else loads and stores share it, too
  bool operator==(const HostLinks&) const = default;
};

// The units of one step of a model of S shards that is spilled to the host (arXiv 2110.08633):
// F(0), ..., F(S-2), then forward, loss and backward of the last shard in one unit, then B(S-2),
// ..., B(0). With one shard: a single unit.
struct ShardTimes {
  Duration forward{}, backward{}, load{}, store{};
};
std::vector<TaskUnit> units_of_shards(const std::vector<ShardTimes>& shards);

}  // namespace penstock
