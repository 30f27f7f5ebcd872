#include "simulator/events/action_durations.h"

#include <cstddef>
#include <cstdint>

#include "core/values/durations.h"
#include "simulator/price_table.h"

namespace penstock {

ActionDurations action_durations(const Program& program, const StagePrices& prices,
                                 const ExecutorModel& executor) {
  const PriceTable table(program, prices, executor);
  ActionDurations durations;
  durations.reserve(program.actions.size());
  for (std::uint32_t i = 0; i < program.actions.size(); ++i) {
    const bool receive = is_receive(program.actions[i].kind);
    durations.push_back(receive ? Duration{} : table.of_task(program, i));
  }
  return durations;
}

TransferBytes transfer_bytes(const Program& program, const StagePrices& prices) {
  TransferBytes bytes(program.actions.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const Action& action = program.actions[i];
    if (!is_send(action.kind)) continue;
    bytes[i] = payload_of(prices, action.kind, priced_place(program, action));
  }
  return bytes;
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
