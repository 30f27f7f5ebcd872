#include "profiler/memory_bandwidth.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "training/steady_time.h"

namespace penstock {

BytesPerSecond measure_memory_bandwidth(Bytes bytes) {
  constexpr int kCopies = 5;
  const auto size = static_cast<std::size_t>(bytes.count);
  std::vector<char> from(size, 1), to(size, 2);  // written, so that pages are there
  Duration best = Duration::max();
  for (int i = 0; i < kCopies; ++i) {
    from[0] = static_cast<char>(i);
    const SteadyTime begin = steady_now();
    std::memcpy(to.data(), from.data(), size);
    best = std::min(best, steady_now() - begin);
    if (to[0] != from[0]) return {};
  }
  return {2.0 * static_cast<double>(bytes.count) /
          static_cast<double>(std::max<std::int64_t>(best.count(), 1)) * 1e9};
}

}  // namespace penstock
