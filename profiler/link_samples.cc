#include "profiler/link_samples.h"

#include <algorithm>

namespace penstock {
namespace {

template <class Samples, class Take>
std::vector<CurvePoint> curve(const Samples& samples, LinkStatistic statistic, const Take& take) {
  std::vector<CurvePoint> points;
  for (const auto& sample : samples) {
    if (!take(sample) || sample.time.count == 0) continue;
    points.push_back(
        {.bytes = sample.bytes,
         .time = statistic == LinkStatistic::kQuarter ? sample.time.quarter : sample.time.median});
  }
  std::ranges::sort(points, {}, &CurvePoint::bytes);
  return points;
}

}  // namespace

std::vector<CurvePoint> curve_of(const LinkSamples& samples, LinkPattern pattern, bool under_load,
                                 LinkStatistic statistic) {
  return curve(samples.links, statistic, [&](const LinkSample& sample) {
    return sample.pattern == pattern && sample.under_load == under_load;
  });
}

std::vector<CurvePoint> curve_of(const LinkSamples& samples, CollectiveKind kind, int participants,
                                 bool under_load, LinkStatistic statistic) {
  return curve(samples.collectives, statistic, [&](const CollectiveSample& sample) {
    return sample.kind == kind && sample.participants == participants &&
           sample.under_load == under_load;
  });
}

}  // namespace penstock
