#include "profiler/copy_samples.h"

#include <algorithm>

#include "profiler/bus_bandwidth.h"

namespace penstock {

std::vector<CurvePoint> curve_of(const std::vector<CopySample>& samples, CopyWay way,
                                 HostMemory memory, bool under_load) {
  std::vector<CurvePoint> curve;
  for (const CopySample& sample : samples) {
    if (sample.way != way || sample.memory != memory || sample.under_load != under_load) continue;
    curve.push_back({sample.bytes, sample.time.median});
  }
  std::ranges::sort(curve, {}, &CurvePoint::bytes);
  return curve;
}

BytesPerSecond memory_bandwidth_of(const std::vector<CopySample>& samples) {
  const std::vector<CurvePoint> curve =
      curve_of(samples, CopyWay::kOnDevice, HostMemory::kPinned, false);
  if (curve.empty()) return {};
  return {2.0 * algorithm_bandwidth(curve.back().bytes, curve.back().time).value};
}

}  // namespace penstock
