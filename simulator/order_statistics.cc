#include "simulator/order_statistics.h"

#include <algorithm>
#include <cstddef>

namespace penstock {

StepInterval interval_of(std::vector<Duration> samples) {
  std::sort(samples.begin(), samples.end());
  const auto percentile = [&](std::size_t q) {
    return samples.at((q * samples.size() + 99) / 100 - 1);
  };
  return {percentile(5), percentile(50), percentile(95)};
}

}  // namespace penstock
