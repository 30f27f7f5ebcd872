// How many bytes every pool of a rank's memory holds at most, from the order of its actions: exact
// for micro-batches of different shapes, where counts times the largest (liveness.h) say too much.
#pragma once

#include <vector>

#include "core/values/program.h"
#include "core/values/stage_prices.h"
#include "core/values/units.h"

namespace penstock {

struct PoolPeaks {
  Bytes stash;    // activations, from their forward to their backward (stash_bytes.h)
  Bytes working;  // of one action, or of both members of an OVERLAP
  // Receives from their posting to their consumer and what sends read from, with the room of
  // transfer_room.h.
  Bytes communication;
};

// Of the ranks of the first `pipelines`. The receives of a stage and direction are one pool, and so
// are its sends. A Program that changes its order while it
// runs: as_executed().
std::vector<PoolPeaks> pool_peaks(const Program& program, const StagePrices& prices, int pipelines);

}  // namespace penstock
