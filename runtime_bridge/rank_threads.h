// Ranks that are threads of this process.
#pragma once

#include <functional>

namespace penstock {

// body(rank) for every rank, each on a thread of its own; returns when all have ended. One of
// the exceptions is thrown again here: the first, by the clock, that is no TransportFailure, for a
// rank may hear of another's failure before that one is done with it; else the first. A body must
// see to it that the others end when it fails (Transport::abort()).
void on_rank_threads(int ranks, const std::function<void(int rank)>& body);

}  // namespace penstock
