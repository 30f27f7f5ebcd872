// The simulator: a pure function from a Program, prices and an executor model to a Timeline.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/values/executor_model.h"
#include "core/values/program.h"
#include "core/values/stage_prices.h"
#include "core/values/timeline.h"
#include "simulator/analyze.h"

namespace penstock {

// Replays the Program. One with a run-time rule goes through the event queue; liveness() and
// attribute_idle() want it as_executed(). Error{kBadInput} when prices do not match the Program,
// when the sum of all durations could leave 64 bits, or when the Program deadlocks under the
// executor model (the message holds the cycle in action names; deadlock() tells beforehand).
Timeline simulate(const Program& program, const StagePrices& prices, const ExecutorModel& executor);

// Only the summary of that Timeline; a search needs no more.
TimelineSummary simulate_summary(const Program& program, const StagePrices& prices,
                                 const ExecutorModel& executor);

// The same Timeline by the general engine, whatever the executor model: the oracle of the fast
// path. `graph`: step_graph() of the same.
struct StepGraph;
Timeline simulate_by_worklist(const Program& program, const StagePrices& prices,
                              const ExecutorModel& executor);
Timeline simulate_by_worklist(const Program& program, const StepGraph& graph,
                              const StagePrices& prices, const ExecutorModel& executor);

// The cycle of actions that wait for each other under the executor model's queues and gates, by
// name; nothing when the Program runs.
std::optional<std::vector<std::string>> deadlock(const Program& program,
                                                 const ExecutorModel& executor);

}  // namespace penstock
