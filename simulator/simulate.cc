#include "simulator/simulate.h"

#include "simulator/events/simulate_by_events.h"
#include "simulator/replay.h"

namespace penstock {

Timeline simulate(const Program& program, const StagePrices& prices,
                  const ExecutorModel& executor) {
  if (program.rule != RunTimeRule::kNone) return simulate_by_events(program, prices, executor);
  if (straight_replay_is_exact(executor)) return replay(program, prices, executor);
  return simulate_by_worklist(program, prices, executor);
}

TimelineSummary simulate_summary(const Program& program, const StagePrices& prices,
                                 const ExecutorModel& executor) {
  if (program.rule != RunTimeRule::kNone) {
    return summarize(program, simulate_by_events(program, prices, executor));
  }
  if (straight_replay_is_exact(executor)) return replay_summary(program, prices, executor);
  return summarize(program, simulate_by_worklist(program, prices, executor));
}

}  // namespace penstock
