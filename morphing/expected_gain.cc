// Penstock's policy. Three rules, each with its reason:
//
// 1. What a rung is worth. It makes steps at its speed, and every loss that breaks it costs a
//    restart: worth = speed x (1 - C x rate of losses that break it). The rate is (seen losses +
//    1/2) over the time since the start. So where losses come in waves a smaller plan with spare
//    GPUs is worth more. When nothing runs, the rung of most worth starts.
// 2. Growing at once. A change from worth r1 to r2 pays when the time t to the next loss that
//    breaks the new rung is longer than C / ln(r2 / r1), for t exponentially distributed: the plan
//    that runs goes on while C passes, or the new one catches up. t is estimated from the losses so
//    far.
// 3. Growing after a while. The estimate may be wrong, and calm lasts. Whoever has foregone as much
//    as the change costs, C x r2 / (r2 - r1) after the chance came or after the last event, changes
//    now (the ski-rental rule: never more than twice the cost of knowing).
//
// Until losses are seen there is a prior of half an hour in every rate (`kPrior`), which counts one
// loss in that time. The three numbers were chosen on the recordings in data/availability;
// docs/morphing.md has the figures with others.
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
// A rung that is worth nothing now is not worth infinitely less than another.
constexpr double kLeastShare = 1e-3;

// Estimates are looked at again when the time since the start has grown by this share.
constexpr double kLookAgain = 0.1;
// Of one wait, in seconds: within what one Duration may be (core/values/units.h).
constexpr double kLongest = 5e5;
Duration after(Duration now, double wait) {
  return now + round_up_to_ns(std::clamp(wait, 1.0, kLongest));
}

class ExpectedGain final : public ChangePolicy {
 public:
  ExpectedGain(bool names_machines, std::vector<Rung> rungs, const ChangeCosts& costs)
      : rungs_(std::move(rungs)),
        seen_(names_machines, rungs_.empty() ? 1 : rungs_.back().gpus),
        planned_(to_seconds(costs.planned())),
        broken_(costs.notice >= costs.write
                    ? to_seconds(costs.planned())
                    : to_seconds(costs.restart) + to_seconds(costs.every) / 2.0) {}

  Decision decide(const Situation& situation) override {
    seen_.pass(situation.now);
    if (situation.change != nullptr) {
      seen_.observe(*situation.change);
      last_event_ = situation.now;
    }
    const std::optional<std::size_t> best = of_most_worth(situation.gpus);
    if (!best || !situation.running) {
      chance_.reset();
      if (!best) return {best, false, std::nullopt};
      return {best, false, look_again(*best, situation.gpus, situation.now)};
    }
    return grow(*situation.running, *best, situation.gpus, situation.now);
  }

 private:
  [[nodiscard]] double worth(std::size_t rung) const {
    const double rate = seen_.rate(rungs_[rung].gpus, kWorthLosses);
    return rungs_[rung].steps_per_second() * std::max(0.0, 1.0 - broken_ * rate);
  }

  // Of several that are worth the same, the fastest.
  [[nodiscard]] std::optional<std::size_t> of_most_worth(int gpus) const {
    std::optional<std::size_t> best;
    double most = 0.0;
    for (std::size_t r = 0; r < rungs_.size() && rungs_[r].gpus <= gpus; ++r) {
      const double its = worth(r);
      if (!best || its >= most) {
        best = r;
        most = its;
      }
    }
    return best;
  }

  Decision grow(std::size_t running, std::size_t best, int gpus, Duration now) {
    const double r2 = worth(best), r1 = std::max(worth(running), kLeastShare * r2);
    if (best <= running || r2 <= r1) {
      chance_.reset();
      return {running, false, look_again(running, gpus, now)};
    }
    if (!chance_) chance_ = now;
    const double until_loss = 1.0 / seen_.rate(rungs_[best].gpus, kPriorLosses);
    const double calm_needed = planned_ / std::log(r2 / r1);
    const double foregone_needed = planned_ * r2 / (r2 - r1);
    const double waited = to_seconds(now - std::max(*chance_, last_event_));
    if (until_loss > calm_needed || waited >= foregone_needed) {
      chance_.reset();
      return {best, false, look_again(best, gpus, now)};
    }
    const Duration pays = after(now, foregone_needed - waited);
    return {running, false, std::min(pays, after(now, kLookAgain * elapsed()))};
  }

  // What a larger rung is worth rises while nothing is lost.
  [[nodiscard]] std::optional<Duration> look_again(std::size_t running, int gpus,
                                                   Duration now) const {
    if (running + 1 == rungs_.size() || rungs_[running + 1].gpus > gpus) return std::nullopt;
    return after(now, kLookAgain * elapsed());
  }
  [[nodiscard]] double elapsed() const { return seen_.elapsed() + SeenLosses::kPriorTime; }

  std::vector<Rung> rungs_;
  SeenLosses seen_;
  double planned_, broken_;
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
