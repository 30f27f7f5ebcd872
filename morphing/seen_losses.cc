// Losses over the time in which they could have happened. Two things follow from the little that a
// policy can know:
//
// - Rates change. After a burst the mean of all time says for hours what has ceased to be true, so
//   that as long as nothing is lost the rate counts as no more than kQuiet losses in the time since
//   the last one. Where losses come at an even rate that is seldom the lesser.
// - A level that was never reached was never lost either. Where only numbers of GPUs are known, a
//   plan on `used` GPUs breaks when there are fewer than that, and the time with fewer says nothing
//   about it. Where machines have names, any of them may be lost: the plan's share of all losses.
#include "morphing/seen_losses.h"

#include <algorithm>
#include <cstddef>

#include "core/values/seconds.h"

namespace penstock {
namespace {

constexpr double kQuiet = 2.0;

}  // namespace

SeenLosses::SeenLosses(bool names_machines, int most_gpus)
    : names_machines_(names_machines),
      most_gpus_(most_gpus),
      levels_(names_machines ? 2 : static_cast<std::size_t>(most_gpus) + 1) {}

void SeenLosses::pass(Duration now) {
  if (!has_begun_ || now <= last_) return;
  const double passed = to_seconds(now - last_);
  last_ = now;
  elapsed_ += passed;
  if (gpus_ < most_gpus_) could_gain_ += passed;
  gpu_seconds_ += static_cast<double>(gpus_) * passed;
  const auto reached = std::min(static_cast<std::size_t>(gpus_), levels_.size() - 1);
  for (std::size_t level = 1; level <= reached; ++level) levels_[level].exposed += passed;
}

void SeenLosses::observe(const AvailabilityChange& change) {
  pass(change.at);
  const bool gains = names_machines_ ? !change.added.empty() : change.gpus > gpus_;
  if (has_begun_ && gains && gpus_ < most_gpus_) gains_ += 1.0;
  has_begun_ = true;
  last_ = change.at;
  const auto lose = [](Level& level) {
    level.losses += 1.0;
    level.quiet_since = level.exposed;
  };
  if (names_machines_) {
    if (!change.lost.empty()) lose(levels_[1]);
  } else {
    const auto before = std::min(static_cast<std::size_t>(gpus_), levels_.size() - 1);
    for (auto level = static_cast<std::size_t>(change.gpus) + 1; level <= before; ++level) {
      lose(levels_[level]);
    }
  }
  gpus_ = change.gpus;
}

double SeenLosses::rate(int used, double prior) const {
  const Level& level =
      levels_[names_machines_ ? 1 : std::min(static_cast<std::size_t>(used), levels_.size() - 1)];
  double losses = level.losses;
  const double quiet = level.exposed - level.quiet_since;
  if (losses > 0.0 && quiet > 0.0) losses = std::min(losses, kQuiet * level.exposed / quiet);
  if (names_machines_ && level.exposed > 0.0) {
    const double mean = gpu_seconds_ / level.exposed;
    losses *= std::min(1.0, static_cast<double>(used) / std::max(mean, 1.0));
  }
  return (losses + prior) / (level.exposed + kPriorTime);
}

double SeenLosses::gain_rate() const {
  return gpus_ < most_gpus_ ? gains_ / (could_gain_ + kPriorTime) : 0.0;
}

}  // namespace penstock
