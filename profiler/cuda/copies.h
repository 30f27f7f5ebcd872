// How fast one GPU and its host copy: each way and both at once, from pinned and from pageable
// memory, within the device, and all of it again while kernels use the device's memory.
#pragma once

#include <vector>

#include "core/values/units.h"
#include "profiler/copy_samples.h"
#include "profiler/progress.h"

namespace penstock {

struct CopyPlan {
  Bytes smallest{std::int64_t{1} << 10}, largest{std::int64_t{1} << 30};  // sizes in between double
  int warm_up = 3, repeats = 7;
  Duration per_sample = std::chrono::milliseconds(10);  // as many copies as take that long
  bool under_load = true;                               // once more, while memsets run
  // For all of it; what it cuts off are the largest sizes. Zero: as long as it takes.
  Duration budget{};
};

// Uses a little more than three times `largest` of the device's memory and as much of the host's;
// buffers rotate, so that caches stay cold. A size under load is left out when the load cannot be
// made to last as long as its copies. When `progress` says stop, what there is. Error of kind
// kMissingResource when there is no such GPU.
std::vector<CopySample> measure_copies(int device, const CopyPlan& plan,
                                       ProfilingProgress& progress);

}  // namespace penstock
