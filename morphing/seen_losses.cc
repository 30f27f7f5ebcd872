#include "morphing/seen_losses.h"

#include <algorithm>
#include <cstddef>

#include "core/values/seconds.h"

namespace penstock {

SeenLosses::SeenLosses(bool names_machines, int most_gpus)
    : names_machines_(names_machines),
      most_since_(static_cast<std::size_t>(most_gpus) + 1, 0),
      falls_(static_cast<std::size_t>(most_gpus) + 1, 0) {}

void SeenLosses::observe(const AvailabilityChange& change) {
  if (!has_begun_) begin_ = change.at;
  gpu_seconds_ +=
      static_cast<double>(gpus_) * to_seconds(has_begun_ ? change.at - last_ : Duration{});
  has_begun_ = true;
  last_ = change.at;
  if (names_machines_) {
    losses_ += change.lost.empty() ? 0.0 : 1.0;
  } else {
    observe_falls(change.gpus);
  }
  gpus_ = change.gpus;
}

void SeenLosses::observe_falls(int gpus) {
  for (std::size_t spare = 0; spare < falls_.size(); ++spare) {
    if (gpus >= most_since_[spare]) {
      most_since_[spare] = gpus;
    } else if (gpus < most_since_[spare] - static_cast<int>(spare)) {
      ++falls_[spare];
      most_since_[spare] = gpus;
    }
  }
}

double SeenLosses::breaking(int used) const {
  if (!names_machines_) {
    const int spare = std::clamp(gpus_ - used, 0, static_cast<int>(falls_.size()) - 1);
    return static_cast<double>(falls_[static_cast<std::size_t>(spare)]);
  }
  const double passed = to_seconds(last_ - begin_);
  const double mean = passed > 0.0 ? gpu_seconds_ / passed : static_cast<double>(gpus_);
  return losses_ * std::min(1.0, static_cast<double>(used) / std::max(mean, 1.0));
}

Duration SeenLosses::elapsed(Duration now) const { return has_begun_ ? now - begin_ : Duration{}; }

}  // namespace penstock
