// Measures transfers and collectives over a Transport. Every rank of the job calls it with the same
// arguments; rank 0 decides how often things are repeated and when to stop, and has the result.
#pragma once

#include <functional>
#include <vector>

#include "profiler/link_samples.h"
#include "profiler/progress.h"
#include "training/buffer.h"
#include "training/transport.h"

namespace penstock {

// What ranks do while links are measured under load; both calls on every rank.
struct LinkLoad {
  std::function<void()> start, stop;  // empty: only idle links are measured
};

struct LinkPlan {
  Bytes smallest{1024}, largest{64 << 20};  // sizes in between double
  int in_flight = 8;                        // messages of kOneWay and kBothWays
  int warm_up = 3;
  int least = 7, most = 100;       // timed repetitions
  Duration per_size{200'000'000};  // repetitions end after that long, but not below least
  // Of all together, half of it for those under load where there are such: no size is begun after
  // it. Zero: no limit.
  Duration budget{};
  // This much is measured whatever the budget: a size that is never sent larger. Sizes between it
  // and where the budget ended are left out.
  Bytes at_least{};
  std::vector<CollectiveKind> collectives = {
      CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter, CollectiveKind::kAllGather};
};

// Ranks 0 and 1 exchange messages; ranks 0..n-1 do collectives for n = 2 to all. `pool` is memory
// of float32 that messages come from and go to, on the device that is measured: at least as large
// as the largest message. Messages rotate through it, so that a pool larger than the caches keeps
// them cold. On other ranks than 0 the result is empty, and `progress` is not asked.
LinkSamples measure_links(Transport& transport, const Buffer& pool, const LinkPlan& plan,
                          const LinkLoad& load, ProfilingProgress& progress);

}  // namespace penstock
