#include "multi/priority_search.h"

#include <algorithm>

#include "multi/seeded.h"

namespace penstock {
namespace {

constexpr std::size_t kMostBoosts = 8;

std::int64_t executions(const std::vector<UnitTask>& tasks) {
  std::int64_t all = 0;
  for (const UnitTask& task : tasks) all += task.executions();
  return all;
}

Duration longest_task(const std::vector<UnitTask>& tasks) {
  Duration longest{};
  for (const UnitTask& task : tasks) longest = std::max(longest, task.compute());
  return longest;
}

// Half of them before one unit only, half of those before the first: that is where a schedule is
// still free.
Boost random_boost(const std::vector<UnitTask>& tasks, Duration longest, Seeded& random) {
  Boost boost;
  boost.task = static_cast<int>(random.below(static_cast<std::int64_t>(tasks.size())));
  const std::int64_t all = tasks[static_cast<std::size_t>(boost.task)].executions();
  boost.first = random.below(2) == 0 ? 0 : random.below(all);
  const std::int64_t length = random.below(2) == 0 ? 1 : 1 + random.below(all);
  boost.end = std::min(all, boost.first + length);
  const std::int64_t most = std::max<std::int64_t>(1, longest.count());
  boost.amount = Duration{random.below(most) - (random.below(4) == 0 ? most : 0)};
  return boost;
}

std::vector<Boost> changed(std::vector<Boost> boosts, const std::vector<UnitTask>& tasks,
                           Duration longest, Seeded& random) {
  const auto count = static_cast<std::int64_t>(boosts.size());
  const bool is_full = boosts.size() == kMostBoosts;
  if (count == 0 || (!is_full && random.below(2) == 0)) {
    boosts.push_back(random_boost(tasks, longest, random));
  } else if (is_full || random.below(2) == 0) {
    boosts.erase(boosts.begin() + random.below(count));
  } else {
    boosts[static_cast<std::size_t>(random.below(count))] = random_boost(tasks, longest, random);
  }
  return boosts;
}

}  // namespace

FoundPriorities search_priorities(const std::vector<UnitTask>& tasks, int gpus,
                                  const HostLinks& links, const std::vector<Wishes>& wishes,
                                  const PrioritySearch& search) {
  Seeded random(search.seed);
  const Duration longest = longest_task(tasks);
  const std::int64_t tries = std::min<std::int64_t>(
      search.most_tries, search.most_executions / std::max<std::int64_t>(1, executions(tasks)));
  const auto replay = [&](const UnitRules& rules) {
    const UnitReplay replayed = replay_units(tasks, gpus, links, rules);
    return value_of(replayed.ends, replayed.makespan, wishes);
  };
  UnitRules best;
  best.keep_runs = false;
  ScheduleValue value = replay(best);
  for (std::int64_t i = 0; i < tries; ++i) {
    if (value.late_seconds == 0.0 && value.makespan <= search.bound) break;
    UnitRules other = best;
    other.boosts = changed(best.boosts, tasks, longest, random);
    const ScheduleValue found = replay(other);
    // As good is good enough: it leads elsewhere.
    if (value.is_better_than(found)) continue;
    value = found;
    best = std::move(other);
  }
  best.keep_runs = true;
  return {std::move(best), value};
}

}  // namespace penstock
