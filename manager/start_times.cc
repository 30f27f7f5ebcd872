// A start takes level * share(n) * factor(n):
//
// - level: how busy the machines are with other things, and how fast they are.
// - share(n): ranks that have one machine for themselves take turns on its processors while they
//   load their libraries. Half of a start is assumed to wait for that, and the other half not: with
//   two processors three ranks take 0.83 of what four do. Runs of tests/manager/first_steps.py had
//   0.77 and 0.78 on a machine that did little else, and 0.85 to 0.96 on busy ones, where ranks
//   take turns with others as well.
// - factor(n): what is left of the difference between numbers of ranks, 1 until it is measured.
//
// Each start takes s times what these had foreseen. The level takes s^0.75 of that and the factor
// s^0.25; half and half where it is the first of so many ranks, which nobody knew. These numbers
// are the best of those that were tried on 127 changes of six runs (docs/morphing.md).
#include "manager/start_times.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace penstock {
namespace {

constexpr double kTakesTurns = 0.5;
constexpr double kOfLevel = 0.75;
constexpr double kOfLevelAtFirst = 0.5;
// What a start can teach: one that took longer met with something else, as a clock that was set.
constexpr double kMostSurprise = 10.0;

double share(int ranks, int processors) {
  if (processors < 1) return 1.0;
  const double turns = std::max(1.0, static_cast<double>(ranks) / processors);
  return 1.0 - kTakesTurns + kTakesTurns * turns;
}

}  // namespace

std::optional<Duration> expected_start(const std::vector<MeasuredStart>& starts, int ranks,
                                       int processors) {
  if (starts.empty()) return std::nullopt;
  std::map<int, double> factors;
  double level = 0.0;
  for (const MeasuredStart& start : starts) {
    const auto [factor, is_first] = factors.try_emplace(start.ranks, 1.0);
    const double took = static_cast<double>(start.time.count()) / share(start.ranks, processors);
    if (level == 0.0) {
      level = took;
      continue;
    }
    const double surprise =
        std::clamp(took / (level * factor->second), 1.0 / kMostSurprise, kMostSurprise);
    const double of_level = is_first ? kOfLevelAtFirst : kOfLevel;
    level *= std::pow(surprise, of_level);
    factor->second *= std::pow(surprise, 1.0 - of_level);
  }
  const auto known = factors.find(ranks);
  const double factor = known == factors.end() ? 1.0 : known->second;
  return Duration{std::llround(level * share(ranks, processors) * factor)};
}

}  // namespace penstock
