// Bandwidth of a collective as nccl-tests defines it (doc/PERFORMANCE.md there), so that figures
// can be compared with theirs: what the busiest link must have carried, whatever the algorithm.
#pragma once

#include "core/values/cluster.h"
#include "core/values/units.h"

namespace penstock {

// Bytes of the full buffer on one rank over time: nccl-tests' algbw.
BytesPerSecond algorithm_bandwidth(Bytes bytes, Duration time);

// nccl-tests' busbw: times 2 (n - 1) / n for an all-reduce, (n - 1) / n for a reduce-scatter or an
// all-gather of n participants.
BytesPerSecond bus_bandwidth(CollectiveKind kind, int participants, Bytes bytes, Duration time);

}  // namespace penstock
