// The schedule of gangs: which option every model takes, and in which order they are placed. List
// scheduling and seeded local search; branch and bound where models are few; and again, once some
// of them run.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "multi/gang.h"

namespace penstock {

struct GangSearch {
  std::uint64_t seed = 1;
  int most_tries = 4000;
  // Of placements times GPUs, over all tries: what keeps a search of many models short.
  std::int64_t most_work = 20'000'000;
};

// Largest GPU-time first; each takes the option with which it ends first, then the one of the least
// GPU-time.
std::vector<GangChoice> greedy_gangs(const std::vector<GangTask>& tasks, const NodeSizes& nodes);
// One GPU each, the longest first; empty where a model does not run on one.
std::vector<GangChoice> whole_tasks(const std::vector<GangTask>& tasks);
// One after the other, each as fast as it can be.
std::vector<GangChoice> one_after_another(const std::vector<GangTask>& tasks);

// The best that is found from those three and from "at most so many GPUs each"; never worse.
std::vector<GangChoice> search_gangs(const std::vector<GangTask>& tasks, const NodeSizes& nodes,
                                     const GangSearch& search = {});

// A schedule is under way, and is looked at again. Times count from now on.
struct Replanning {
  std::vector<std::optional<RunningGang>> running;  // of every task
  // What a task that runs pays when it changes its option or its GPUs: on top of its runtime.
  Duration restart{};
  Duration least_gain{};  // of the makespan, for which it is worth changing anything
  GangSearch search;
};
struct Replanned {
  GangSchedule schedule;
  bool changes = false;  // else `schedule` is what goes on anyway
  Duration goes_on{};    // the makespan if those that run stay, and the others follow by `order`
  int restarts = 0;
};
// `tasks`: what is left of each. `order`: of those that have not begun, as planned before; of the
// others every one stays.
Replanned replan_gangs(const std::vector<GangTask>& tasks, const NodeSizes& nodes,
                       const std::vector<GangChoice>& order, const Replanning& replanning);

}  // namespace penstock
