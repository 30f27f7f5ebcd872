#include "cli/reports/step_of_csv.h"

#include "cli/reports/replayed_schedule.h"

namespace penstock {

SyntheticStep step_of_csv(const std::string& path, const std::vector<std::string>& costs) {
  ScheduleOptions given;
  given.name = path;
  given.costs = costs;
  given.output = path;  // asks for the trace
  SyntheticStep step = *replayed(given, subject_of(given), {}).extras.step;
  for (TraceRank& rank : step.trace.ranks) rank.memory.clear();
  return step;
}

}  // namespace penstock
