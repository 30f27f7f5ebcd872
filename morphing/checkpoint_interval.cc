#include "morphing/checkpoint_interval.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace penstock {

Duration checkpoint_interval(Duration write, Duration between_losses) {
  const auto d = static_cast<double>(write.count());
  const auto m = static_cast<double>(between_losses.count());
  if (d >= 2.0 * m) return std::max(write, between_losses);
  const double ratio = d / (2.0 * m);
  const double best = std::sqrt(2.0 * d * m) * (1.0 + std::sqrt(ratio) / 3.0 + ratio / 9.0) - d;
  return std::max(write, Duration{std::llround(best)});
}

Duration background_interval(Duration stall, Duration write, Duration between_losses) {
  return std::max(write, checkpoint_interval(stall, between_losses));
}

Duration mean_between_silent_losses(const Availability& recording, Duration notice,
                                    Duration write) {
  std::int64_t losses = 1;
  for (std::size_t i = 1; i < recording.changes.size(); ++i) {
    const AvailabilityChange& change = recording.changes[i];
    const bool loses = change.gpus < recording.changes[i - 1].gpus || !change.lost.empty();
    losses += loses && change.notice.value_or(notice) < write ? 1 : 0;
  }
  return (recording.end - recording.changes.front().at) / losses;
}

}  // namespace penstock
