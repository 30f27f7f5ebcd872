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

}  // namespace penstock
