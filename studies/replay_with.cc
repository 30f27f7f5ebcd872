#include "studies/replay_with.h"

#include <algorithm>

#include "search/plan_program.h"

namespace penstock {

void replay_with(const ExecutorModel& executor, PlanFile& file) {
  if (executor.issue != file.executor.issue) {
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
