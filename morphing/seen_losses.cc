// Losses over the time in which they could have happened. Two things follow from the little that a
// policy can know:
//
// - Rates change. After a burst the mean of all time says for hours what has ceased to be true, so
//   that as long as nothing is lost the rate counts as no more than kQuiet losses in the time since
//   the last one. Where losses come at an even rate that is seldom the lesser.
// - A level that was never reached was never lost either. Where only numbers of GPUs are known, a
//   plan on `used` GPUs breaks when there are fewer than that, and the time with fewer says nothing
//   about it. Where machines have names, any of them may be lost: the plan's share of all losses.
//   Of several device types each has its levels, and any of them may break the plan.
#include "morphing/seen_losses.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>

#include "core/values/seconds.h"

namespace penstock {
namespace {

constexpr double kQuiet = 2.0;

}  // namespace

SeenLosses::SeenLosses(bool names_machines, const std::vector<int>& most)
    : names_machines_(names_machines), most_gpus_(std::accumulate(most.begin(), most.end(), 0)) {
  if (names_machines) {
    levels_.emplace_back(2);
  } else {
    for (const int gpus : most) levels_.emplace_back(static_cast<std::size_t>(gpus) + 1);
  }
  there_.assign(levels_.size(), 0);
}

void SeenLosses::pass(Duration now) {
  if (!has_begun_ || now <= last_) return;
  const double passed = to_seconds(now - last_);
  last_ = now;
  elapsed_ += passed;
  if (gpus_ < most_gpus_) could_gain_ += passed;
  gpu_seconds_ += static_cast<double>(gpus_) * passed;
  for (std::size_t type = 0; type < levels_.size(); ++type) {
    for (int level = 1; level <= there_[type]; ++level) {
      levels_[type][static_cast<std::size_t>(level)].exposed += passed;
    }
  }
}

void SeenLosses::observe(const AvailabilityChange& change) {
  pass(change.at);
  const bool gains = names_machines_ ? !change.added.empty() : change.gpus > gpus_;
  if (has_begun_ && gains && gpus_ < most_gpus_) {
    gains_ += 1.0;
    gained_gpus_ += std::max(1, change.gpus - gpus_);
  }
  has_begun_ = true;
  last_ = change.at;
  const auto lose = [](Level& level) {
    level.losses += 1.0;
    level.quiet_since = level.exposed;
  };
  if (names_machines_ && !change.lost.empty()) lose(levels_[0][1]);
  const bool counts_types = levels_.size() == change.of_types.size();
  for (std::size_t type = 0; type < levels_.size(); ++type) {
    const int most = static_cast<int>(levels_[type].size()) - 1;
    const int now = std::min(counts_types ? change.of_types[type] : change.gpus, most);
    if (!names_machines_) {
      for (int level = now + 1; level <= there_[type]; ++level) {
        lose(levels_[type][static_cast<std::size_t>(level)]);
      }
    }
    there_[type] = now;
  }
  gpus_ = change.gpus;
}

// Not more than `kQuiet` in the time since the last one.
double SeenLosses::losses_of(const Level& level) const {
  const double quiet = level.exposed - level.quiet_since;
  if (level.losses <= 0.0 || quiet <= 0.0) return level.losses;
  return std::min(level.losses, kQuiet * level.exposed / quiet);
}

double SeenLosses::rate(const Rung& rung, double prior) const {
  if (names_machines_) {
    const Level& level = levels_[0][1];
    double losses = losses_of(level);
    if (level.exposed > 0.0) {
      const double mean = gpu_seconds_ / level.exposed;
      losses *= std::min(1.0, static_cast<double>(rung.gpus) / std::max(mean, 1.0));
    }
    return (losses + prior) / (level.exposed + kPriorTime);
  }
  // What is assumed counts once, with the type of which least has been seen.
  const std::span<const int> used =
      rung.of_types.empty() ? std::span(&rung.gpus, 1) : std::span(rung.of_types);
  double rate = 0.0, least = -1.0;
  for (std::size_t type = 0; type < std::min(used.size(), levels_.size()); ++type) {
    if (used[type] == 0) continue;
    const std::vector<Level>& levels = levels_[type];
    const Level& level = levels[std::min(static_cast<std::size_t>(used[type]), levels.size() - 1)];
    if (least < 0.0 || level.exposed < least) least = level.exposed;
    rate += losses_of(level) / (level.exposed + kPriorTime);
  }
  return rate + prior / (std::max(least, 0.0) + kPriorTime);
}

double SeenLosses::gain_rate(int needed) const {
  if (gpus_ >= most_gpus_ || gains_ <= 0.0) return 0.0;
  const double times = std::max(1.0, needed * gains_ / gained_gpus_);
  return gains_ / times / (could_gain_ + kPriorTime);
}

}  // namespace penstock
