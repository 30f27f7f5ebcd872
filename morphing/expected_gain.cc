// Penstock's policy. Three rules, each with its reason:
//
// 1. What a rung is worth. It makes steps at its speed, and every loss that breaks it costs a
//    restart: worth = speed x (1 - 3/4 C x rate of losses that break it). The rate is (seen losses
//    + 1/2) over the time since the start, and counts as three quarters of what it is, because some
//    losses come while the job restarts anyway. So where losses come in waves a smaller plan with
//    spare GPUs is worth more. When nothing runs, the rung of most worth starts.
// 2. Growing at once. A change from worth r1 to r2 pays when the time t to the next change that
//    makes it useless is longer than C / ln(r2 / r1), for t exponentially distributed: the plan
//    that runs goes on while C passes, or the new one catches up. Useless it is by a loss that
//    breaks the new rung, and half of the time by as many more GPUs as another rung needs, on which
//    the job would like to run instead. While the plan that runs is itself restarting, C is only
//    what the change takes longer than that, and no checkpoint is written.
// 3. Growing after a while. The estimate may be wrong, and calm lasts. Whoever has foregone half as
//    much again as the change costs, 3/2 C x r2 / (r2 - r1) after the chance came or after the last
//    event, changes now (the ski-rental rule: a wrong estimate costs only so much).
//
// Until losses are seen there is a prior of half an hour in every rate (`kPriorTime`), which counts
// one loss in that time. The numbers were chosen on the recordings in data/availability with
// changes of 30 to 340 s, and on made-up ones; docs/morphing.md has the figures. Whether a loss, or
// a gain, has just happened was tried as well and told nothing.
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/values/seconds.h"
#include "morphing/change_policy.h"
#include "morphing/seen_losses.h"

namespace penstock {
namespace {

constexpr double kPriorLosses = 1.0;
constexpr double kWorthLosses = 0.5;
constexpr double kBreakShare = 0.75;  // of the cost of a loss, in what a rung is worth
constexpr double kGainShare = 0.5;    // of more GPUs, that make a change useless
constexpr double kPatience = 1.5;     // times what a change costs
// A rung that is worth nothing now is not worth infinitely less than another.
constexpr double kLeastShare = 1e-3;

// Estimates are looked at again when the time since the start has grown by this share.
constexpr double kLookAgain = 0.1;
// Of one wait, in seconds: within what one Duration may be (core/values/units.h).
constexpr double kLongest = 5e5;
Duration after(Duration now, double wait) {
  return now + round_up_to_ns(std::clamp(wait, 1.0, kLongest));
}

// GPUs of the largest rung, of each type where types are counted.
std::vector<int> most_of(const std::vector<Rung>& rungs) {
  std::vector<int> most;
  for (const Rung& rung : rungs) {
    const std::vector<int> its =
        rung.of_types.empty() ? std::vector<int>{rung.gpus} : rung.of_types;
    most.resize(its.size(), 0);
    for (std::size_t t = 0; t < its.size(); ++t) most[t] = std::max(most[t], its[t]);
  }
  return most.empty() ? std::vector<int>{1} : most;
}

class ExpectedGain final : public ChangePolicy {
 public:
  ExpectedGain(bool names_machines, std::vector<Rung> rungs, const ChangeCosts& costs)
      : rungs_(std::move(rungs)),
        seen_(names_machines, most_of(rungs_)),
        planned_(to_seconds(costs.planned())),
        restart_(to_seconds(costs.restart)),
        broken_(costs.notice >= costs.write
                    ? to_seconds(costs.planned())
                    : to_seconds(costs.restart) + to_seconds(costs.every) / 2.0) {}

  Decision decide(const Situation& situation) override {
    seen_.pass(situation.now);
    if (situation.change != nullptr) {
      seen_.observe(*situation.change);
      last_event_ = situation.now;
    }
    const std::optional<std::size_t> best = of_most_worth(situation);
    if (!best || !situation.running) {
      chance_.reset();
      if (!best) return {best, false, std::nullopt};
      return {best, false, look_again(*best, situation)};
    }
    return grow(situation, *best);
  }

 private:
  [[nodiscard]] double worth(std::size_t rung) const {
    const double rate = seen_.rate(rungs_[rung], kWorthLosses);
    return rungs_[rung].steps_per_second() * std::max(0.0, 1.0 - kBreakShare * broken_ * rate);
  }

  // Of several that are worth the same, the fastest.
  [[nodiscard]] std::optional<std::size_t> of_most_worth(const Situation& now) const {
    std::optional<std::size_t> best;
    double most = 0.0;
    for (std::size_t r = 0; r < rungs_.size(); ++r) {
      if (!fits(rungs_[r], now.gpus, now.of_types)) {
        if (now.of_types.empty()) break;  // nor do those that follow
        continue;
      }
      const double its = worth(r);
      if (!best || its >= most) {
        best = r;
        most = its;
      }
    }
    return best;
  }

  Decision grow(const Situation& situation, std::size_t best) {
    const std::size_t running = *situation.running;
    const Duration now = situation.now;
    const double r2 = worth(best), r1 = std::max(worth(running), kLeastShare * r2);
    if (best <= running || r2 <= r1) {
      chance_.reset();
      return {running, false, look_again(running, situation)};
    }
    if (!chance_) chance_ = now;
    // What is left of a restart is saved by beginning another.
    const double left = to_seconds(situation.restarting);
    const double change = left > 0.0 ? std::max(restart_, left) : planned_;
    const double useless =
        seen_.rate(rungs_[best], kPriorLosses) + kGainShare * gain_rate(best, situation);
    const double foregone_needed = kPatience * std::max(0.0, change * r2 - left * r1) / (r2 - r1);
    const double waited = to_seconds(now - std::max(*chance_, last_event_));
    if (std::log(r2 / r1) > useless * (change - left) || waited >= foregone_needed) {
      chance_.reset();
      return {best, false, look_again(best, situation)};
    }
    const Duration pays = after(now, foregone_needed - waited);
    return {running, false, std::min(pays, after(now, look_again_in()))};
  }

  // Of as many more GPUs as a faster rung than this one needs, the one that needs fewest.
  [[nodiscard]] double gain_rate(std::size_t best, const Situation& now) const {
    std::optional<int> fewest;
    for (std::size_t r = best + 1; r < rungs_.size(); ++r) {
      const int needed = missing(rungs_[r], now);
      if (!fewest || needed < *fewest) fewest = needed;
      if (now.of_types.empty()) break;  // those that follow need more
    }
    return fewest ? seen_.gain_rate(std::max(1, *fewest)) : 0.0;
  }
  static int missing(const Rung& rung, const Situation& now) {
    if (now.of_types.empty()) return rung.gpus - now.gpus;
    int missing = 0;
    for (std::size_t t = 0; t < rung.of_types.size(); ++t) {
      missing += std::max(0, rung.of_types[t] - now.of_types[t]);
    }
    return missing;
  }

  // What a faster rung is worth rises while nothing is lost.
  [[nodiscard]] std::optional<Duration> look_again(std::size_t running,
                                                   const Situation& now) const {
    for (std::size_t r = running + 1; r < rungs_.size(); ++r) {
      if (fits(rungs_[r], now.gpus, now.of_types)) return after(now.now, look_again_in());
      if (now.of_types.empty()) break;
    }
    return std::nullopt;
  }
  [[nodiscard]] double look_again_in() const {
    return kLookAgain * (seen_.elapsed() + SeenLosses::kPriorTime);
  }

  std::vector<Rung> rungs_;
  SeenLosses seen_;
  double planned_, restart_, broken_;
  Duration last_event_{};
  std::optional<Duration> chance_;  // since when a better rung could run
};

}  // namespace

std::unique_ptr<ChangePolicy> expected_gain_policy(const Availability& recording,
                                                   std::vector<Rung> rungs,
                                                   const ChangeCosts& costs) {
  return std::make_unique<ExpectedGain>(recording.names_machines(), std::move(rungs), costs);
}

}  // namespace penstock
