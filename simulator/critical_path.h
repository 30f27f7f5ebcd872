// What let every action start, and the chain of actions that the length of a step comes from.
#pragma once

#include <cstdint>
#include <vector>

#include "core/values/executor_model.h"
#include "core/values/program.h"
#include "core/values/timeline.h"

namespace penstock {

// Per action the one whose end it waited for, kWaitsForNothing where it waited for none: of what
// must come before it (what it needs, its predecessor on the rank, the transfer before it in a
// queue, the members of its collective on other ranks) the one that ended last. Of several that
// ended together what it needs comes first, since that would have to move for it to start earlier
// even on an idle rank; of the others the first one stored. A receive is one with its send: what
// waits for the receive waits for the send. `executor` is the one that `timeline` was simulated
// with.
std::vector<std::uint32_t> bound_by(const Program& program, const Timeline& timeline,
                                    const ExecutorModel& executor);

// From the action that ends last (of several the first one stored) back along what bound_by()
// returned, turned round: ascending times. Each begins when the one before it ends, from the start
// of the step on, so that together they take as long as the step.
std::vector<std::uint32_t> critical_path(const Timeline& timeline,
                                         const std::vector<std::uint32_t>& bounds);

}  // namespace penstock
