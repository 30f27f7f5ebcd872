// When every action of a Program's lists runs, by the rules of docs/schedules.md taken literally
// and without the waits that reading or lowering derived: the oracle of Programs with several needs
// per action, slots and copy lanes. Transfers occupy nothing.
#pragma once

#include <vector>

#include "core/values/executor_model.h"
#include "core/values/program.h"
#include "core/values/stage_prices.h"
#include "core/values/units.h"

namespace penstock::testing {

// By action, in the order of the Program. Only what is listed of Program::more_waits is used, and
// no Action::waits_for.
struct ActionTimes {
  std::vector<std::int64_t> start, end;
  // Most slots of a rank that are taken at once, by rank; a slot is taken from the start of its
  // LOAD to the end of its RESHARD.
  std::vector<int> most_slots;
};
ActionTimes lists_by_the_rules(const Program& program, const StagePrices& prices,
                               const ExecutorModel& executor = {});

}  // namespace penstock::testing
