// Orders of samples in which neighbours are alike, since a micro-batch is a run of neighbours.
#pragma once

#include <vector>

#include "search/dynamic/length_batch.h"

namespace penstock {

// Each holds every sample once; which one is best, the objective of its split decides. Without
// decoder lengths one: descending by (length, index). With them three: descending by (encoder,
// decoder, index); a sweep in which the decoder lengths of one encoder band go up and those of the
// next go down; and the shorter of these two as a path (Manhattan distance), shortened by moves.
std::vector<std::vector<int>> sample_orders(const LengthBatch& batch);

}  // namespace penstock
