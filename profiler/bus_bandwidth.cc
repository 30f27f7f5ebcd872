#include "profiler/bus_bandwidth.h"

namespace penstock {

BytesPerSecond algorithm_bandwidth(Bytes bytes, Duration time) {
  if (time.count() <= 0) return {};
  return {static_cast<double>(bytes.count) / static_cast<double>(time.count()) * 1e9};
}

BytesPerSecond bus_bandwidth(CollectiveKind kind, int participants, Bytes bytes, Duration time) {
  const double n = participants;
  const double passes = kind == CollectiveKind::kAllReduce ? 2.0 : 1.0;
  return {algorithm_bandwidth(bytes, time).value * passes * (n - 1.0) / n};
}

}  // namespace penstock
