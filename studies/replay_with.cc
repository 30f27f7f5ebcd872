#include "studies/replay_with.h"

#include <algorithm>

#include "core/values/error.h"
#include "search/plan_program.h"

namespace penstock {

void replay_with(const ExecutorModel& executor, PlanFile& file) {
  if (executor.issue != file.executor.issue || executor.optimizer != file.executor.optimizer) {
    if (file.program.has_slots() || !file.program.more_waits.empty()) {
      throw_bad_input(file.model +
                      ": its lists hold LOAD, STORE or waits of their own, so they "
                      "cannot be issued in another order or with another optimizer\nhelp: keep the "
                      "executor's order and optimizer, which the file says");
    }
    const auto& actions = file.program.actions;
    const bool recomputes = std::any_of(actions.begin(), actions.end(), [](const Action& action) {
      return action.kind == ActionKind::kRecompute;
    });
    file.program =
        program_of(schedules_in(file), lowering_of(file.plan, file.ties, recomputes, executor));
  }
  file.executor = executor;
}

}  // namespace penstock
