// Units of several tasks on shared GPUs, replayed in virtual time under a rule that says which task
// a GPU takes next. A pure function: integer nanoseconds, ties by number.
#pragma once

#include <cstdint>
#include <vector>

#include "multi/unit_task.h"

namespace penstock {

enum class NextTask {
  kLongestRemaining,  // Sharded-LRTF: most compute left, the unit in flight apart
  kRoundRobin,        // the next one by number that is idle
  kWholeTasks,        // a GPU keeps its task to the end; then the longest that nobody has begun
};

// Makes a task count for more in kLongestRemaining before some of its units.
struct Boost {
  int task = 0;
  std::int64_t first = 0, end = 0;  // executions of units
  Duration amount{};                // added to what is left
  bool operator==(const Boost&) const = default;
};

struct UnitRun {
  int gpu = 0, task = 0;
  std::int64_t execution = 0;  // of the task's units, through all steps
  Duration start{}, end{};
  bool operator==(const UnitRun&) const = default;
};

struct UnitReplay {
  Duration makespan{};         // until the last copy back to the host has ended
  std::vector<Duration> ends;  // of every task's last unit
  Duration waiting{};          // of all GPUs together, for a task that they had chosen
  std::int64_t loads = 0;
  std::vector<UnitRun> runs;  // by start, then by GPU; where they were asked for
  bool operator==(const UnitReplay&) const = default;
};

struct UnitRules {
  NextTask next = NextTask::kLongestRemaining;
  std::vector<Boost> boosts{};
  bool keep_runs = true;
};

// How a GPU works:
// - It has two slots. Directly after a unit starts it chooses its next task and loads the shard
// into
//   the other slot, unless a slot holds it in its newest form; the load waits until that slot was
//   written back, and until the shard's newest form is on the host.
// - Its own task may stay; another one must be idle and chosen by no other GPU. A GPU without a
// next
//   task looks again after every event; one that runs nothing chooses before those that do.
// - A unit starts when the one before it has ended and its shard is there; where it changes the
//   shard, not before an earlier copy of it back to the host has ended.
// Events at the same time: copies first, then units by GPU. Time is proportional to the units times
// the sum of tasks and GPUs.
UnitReplay replay_units(const std::vector<UnitTask>& tasks, int gpus, const HostLinks& links = {},
                        const UnitRules& rules = {});

}  // namespace penstock
