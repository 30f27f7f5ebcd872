// Staying is free and a change costs a restart, so that the search weighs both by itself. What goes
// on anyway is the incumbent: it is left only for a makespan that is shorter by the least gain.
#include <algorithm>

#include "multi/gang_search.h"
#include "multi/improve_gangs.h"

namespace penstock {

Replanned replan_gangs(const std::vector<GangTask>& tasks, const NodeSizes& nodes,
                       const std::vector<GangChoice>& order, const Replanning& replanning) {
  std::vector<GangTask> charged = tasks;
  std::vector<GangChoice> as_before;
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    if (!replanning.running[t]) continue;
    as_before.push_back({static_cast<int>(t), kStays});
    for (GangOption& option : charged[t].options) option.runtime += replanning.restart;
  }
  as_before.insert(as_before.end(), order.begin(), order.end());

  Replanned result;
  result.schedule = list_gangs(charged, nodes, as_before, replanning.running);
  const ScheduleValue goes_on = value_of(result.schedule, charged);
  result.goes_on = goes_on.makespan;
  const std::vector<GangChoice> found =
      improve_gangs(charged, nodes, as_before, replanning.running, replanning.search);
  GangSchedule schedule = list_gangs(charged, nodes, found, replanning.running);
  const ScheduleValue value = value_of(schedule, charged);
  const bool pays = value.late_seconds < goes_on.late_seconds ||
                    (value.late_seconds == goes_on.late_seconds &&
                     value.makespan + replanning.least_gain < goes_on.makespan);
  if (!pays) return result;
  result.changes = true;
  result.schedule = std::move(schedule);
  result.restarts =
      static_cast<int>(std::count_if(found.begin(), found.end(), [&](const GangChoice& choice) {
        return choice.option != kStays &&
               replanning.running[static_cast<std::size_t>(choice.task)].has_value();
      }));
  return result;
}

}  // namespace penstock
