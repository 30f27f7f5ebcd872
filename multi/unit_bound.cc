// LB = max(longest task, total work / min(G, n)) (McNaughton: exact if units could be split at
// will), made sharper by copies. A stretch of units on d different shards finds at most K of them
// in K slots, and at most K - 1 when the unit before it was on yet another shard, so at least the
// others are loaded. With two slots this gives the 2S - 4 loads a step of a model of S shards.
#include "multi/unit_bound.h"

#include <set>

namespace penstock {
namespace {

Duration rounded_up(Duration total, std::int64_t parts) {
  return Duration{(total.count() + parts - 1) / parts};
}

struct Copies {
  Duration loads{}, stores{};
};

// The shortest of the loads of a stretch, without the `held` longest.
Duration least_loads(std::vector<Duration> loads, std::int64_t held) {
  std::sort(loads.begin(), loads.end());
  Duration sum{};
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(loads.size()) - held; ++i) {
    sum += loads[static_cast<std::size_t>(i)];
  }
  return sum;
}

// Of one step behind others; stretches begin where a shard comes again.
Copies copies_of_step(const UnitTask& task, std::int64_t slots) {
  Copies copies;
  std::set<int> seen;
  std::vector<Duration> loads;
  int before = task.units.back().shard;
  const auto end_stretch = [&] {
    const std::int64_t held = seen.contains(before) ? slots : slots - 1;
    copies.loads += least_loads(loads, held);
    seen.clear();
    loads.clear();
  };
  int last = before;
  for (const TaskUnit& unit : task.units) {
    if (seen.contains(unit.shard) && unit.shard != last) {
      end_stretch();
      before = last;
    }
    if (seen.insert(unit.shard).second) loads.push_back(unit.load);
    copies.stores += unit.store;
    last = unit.shard;
  }
  end_stretch();
  return copies;
}

}  // namespace

UnitBound unit_bound(const std::vector<UnitTask>& tasks, int gpus, const HostLinks& links) {
  UnitBound bound;
  if (tasks.empty()) return bound;
  Duration compute{}, loads{}, stores{};
  Duration first_load = tasks.front().units.front().load;
  for (const UnitTask& task : tasks) {
    const Duration load = task.units.front().load;
    bound.longest_task = std::max(bound.longest_task, load + task.compute());
    first_load = std::min(first_load, load);
    compute += task.compute();
    const Copies of_step = copies_of_step(task, std::int64_t{2} * gpus);
    loads += of_step.loads * task.steps;
    stores += of_step.stores * task.steps;
  }
  const auto count = static_cast<int>(tasks.size());
  bound.work = first_load + rounded_up(compute, std::min(gpus, count));
  const int link_count = (gpus + links.gpus_per_link - 1) / links.gpus_per_link;
  bound.copies = rounded_up(links.duplex ? std::max(loads, stores) : loads + stores, link_count);
  return bound;
}

}  // namespace penstock
