// Schedules whose lists are squeezed on the V (v-half, v-min): to make one takes a hundred times as
// long as to copy it, and bounds, counts and replays of many candidates ask for the same ones.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "core/values/schedule.h"
#include "simulator/schedules/schedules.h"

namespace penstock {

// Threads fill it as they go. What it says depends on the shape alone.
class ScheduleMemo {
 public:
  // `actions`: those that all schedules together may hold (8 B each); the least recently used go.
  explicit ScheduleMemo(std::size_t actions = std::size_t{1} << 22) : most_actions_(actions) {}

  // Others are made whenever they are asked for.
  static bool keeps(const ScheduleKind& kind, const ScheduleShape& shape);
  // As make_schedule() makes it.
  std::shared_ptr<const Schedule> get(const ScheduleKind& kind, const ScheduleShape& shape);

 private:
  using Key = std::tuple<const ScheduleKind*, int, int>;  // kind, P, M
  struct Entry {
    std::shared_ptr<const Schedule> schedule;
    std::list<Key>::iterator use;  // place in uses_
  };
  std::shared_ptr<const Schedule> keep(const Key& key, std::shared_ptr<const Schedule> schedule);

  const std::size_t most_actions_;
  std::mutex mutex_;
  std::map<Key, Entry> entries_;
  std::list<Key> uses_;  // most recent first
  std::size_t actions_ = 0;
};

}  // namespace penstock
