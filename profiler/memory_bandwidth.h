// What one processor reads and writes per second when nothing is in its caches.
#pragma once

#include "core/values/units.h"

namespace penstock {

// By copying `bytes` a few times: bytes read plus bytes written, over the fastest copy.
BytesPerSecond measure_memory_bandwidth(Bytes bytes = {std::int64_t{1} << 28});

}  // namespace penstock
