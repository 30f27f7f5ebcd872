// A Program with a run-time rule, as it ran: with its actions in the order in which they started.
// Whatever asks a Program for its order (liveness, memory, idle time) asks that one.
#pragma once

#include <cstdint>
#include <vector>

#include "core/values/program.h"
#include "core/values/timeline.h"

namespace penstock {

struct ExecutedProgram {
  Program program;    // without a rule; its replay gives `timeline`
  Timeline timeline;  // in the order of its actions
};

// A recompute that began before its gradient had arrived no longer waits for it; its backward does.
// Compute that takes no time at all and starts with other such of its rank keeps its stored order.
ExecutedProgram as_executed(const Program& program, const Timeline& timeline);

// Largest number of activations (inputs, where they are recomputed) held per rank of the first
// pipeline, from F to the backward, in the order in which the actions ran.
std::vector<std::int64_t> peak_stash(const Program& program, const Timeline& timeline);

}  // namespace penstock
