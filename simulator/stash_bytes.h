// How many bytes of activations a rank holds at once, from the order of its actions: exact for
// micro-batches of different shapes, where counts times one size (liveness.h) say too much.
#pragma once

#include <vector>

#include "core/values/program.h"
#include "core/values/stage_prices.h"
#include "core/values/units.h"
#include "simulator/simulate_schedule.h"

namespace penstock {

// The most that each rank of the Program's pipelines holds from its forwards to its backwards: F
// takes stash, I exchanges it for weight stash, W or B frees what is left. An OVERLAP's forward
// takes before its backward frees. A Program that changes its order while it runs: as_executed().
std::vector<Bytes> peak_stash_bytes(const Program& program, const StagePrices& prices);

// The same of the ranks of one pipeline, without writing out its Program.
std::vector<Bytes> peak_stash_bytes(const RolledInput& pipeline, const StagePrices& prices);

}  // namespace penstock
