#include "simulator/events/action_durations.h"

#include <cstddef>

#include "simulator/price_table.h"

namespace penstock {

ActionDurations action_durations(const Program& program, const StagePrices& prices,
                                 const ExecutorModel& executor) {
  const PriceTable table(program, prices, executor);
  ActionDurations durations;
  durations.reserve(program.actions.size());
  for (const Action& action : program.actions) {
    if (is_receive(action.kind)) {
      durations.emplace_back();
    } else {
      durations.push_back(is_collective(action.kind) ? table.of_collective(action)
                                                     : table.of(action));
    }
  }
  return durations;
}

void slow_down(ActionDurations& durations, const Program& program, RankId rank, double factor) {
  for (std::size_t i = 0; i < durations.size(); ++i) {
    const Action& action = program.actions[i];
    if (is_compute(action.kind) && program.rank_of(action) == rank) {
      durations[i] = scaled(durations[i], factor);
    }
  }
}

}  // namespace penstock
