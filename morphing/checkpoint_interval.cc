#include "morphing/checkpoint_interval.h"

#include <algorithm>
#include <cmath>

namespace penstock {

Duration checkpoint_interval(Duration write, Duration between_losses) {
  const auto d = static_cast<double>(write.count());
  const auto m = static_cast<double>(between_losses.count());
  if (d >= 2.0 * m) return std::max(write, between_losses);
  const double ratio = d / (2.0 * m);
  const double best = std::sqrt(2.0 * d * m) * (1.0 + std::sqrt(ratio) / 3.0 + ratio / 9.0) - d;
  return std::max(write, Duration{std::llround(best)});
}

}  // namespace penstock
