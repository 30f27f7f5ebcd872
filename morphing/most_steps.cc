// The best that hindsight can do, by dynamic programming over the changes of a recording.
//
// A segment runs one rung from change i to change j. Changes at events suffice: a change for the
// better gains when it moves back to the last event, one for the worse when it waits for the next
// one. What a segment can run is bounded by the GPUs that are there all the time from i to j: where
// only their number is known the smallest number, else the GPUs of the machines that survive. The
// fastest rung on these is the best: whether the losses at j leave it whole changes no cost.
//
// Two values per change, since the next start costs write + restart after a plan that ran and was
// saved (`saved`), and only the restart after a wait, or where what was not in a checkpoint was
// given up (`stopped`), which pays right after one was written. O(K^2) for K changes, were it not
// that most segments are not worth going on with (is_beaten).
#include <algorithm>
#include <limits>

#include "core/values/seconds.h"
#include "morphing/goodput.h"

namespace penstock {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

// GPUs that are left of those at a change.
struct Left {
  int gpus = 0;
  std::vector<int> of_types;  // where types are counted
};

class Hindsight {
 public:
  Hindsight(const Availability& recording, const std::vector<Rung>& rungs, const ChangeCosts& costs)
      : recording_(recording), rungs_(rungs), costs_(costs) {
    const std::size_t changes = recording.changes.size();
    for (std::size_t i = 0; i < changes; ++i) at_.push_back(recording.changes[i].at);
    at_.push_back(recording.end);
    saved_.assign(changes + 1, kNever);
    stopped_.assign(changes + 1, kNever);
    added_in_.assign(recording.machines.size(), 0);
    for (std::size_t i = 0; i < changes; ++i) {
      for (const int machine : recording.changes[i].added) {
        added_in_[static_cast<std::size_t>(machine)] = i;
      }
    }
    int most = 0;
    for (const AvailabilityChange& change : recording.changes) most = std::max(most, change.gpus);
    if (!recording.types.empty()) return;
    for (int gpus = 0; gpus <= most; ++gpus) fastest_.push_back(fastest_rung(rungs, gpus));
  }

  double most() {
    if (at_.size() == 1) return 0.0;
    stopped_[0] = 0.0;
    for (std::size_t i = 0; i + 1 < at_.size(); ++i) {
      improve(stopped_[i + 1], std::max(stopped_[i], saved_[i]));  // waits
      run_from(i);
    }
    return std::max(stopped_.back(), saved_.back());
  }

 private:
  static void improve(double& value, double other) { value = std::max(value, other); }

  // The GPUs that were there at change i, and are left after change j too.
  void leave_what_is_left(std::size_t i, std::size_t j, Left& left) const {
    const AvailabilityChange& change = recording_.changes[j];
    if (!recording_.names_machines()) {
      left.gpus = std::min(left.gpus, change.gpus);
      for (std::size_t t = 0; t < left.of_types.size(); ++t) {
        left.of_types[t] = std::min(left.of_types[t], change.of_types[t]);
      }
      return;
    }
    for (const int index : change.lost) {
      if (added_in_[static_cast<std::size_t>(index)] > i) continue;
      const AvailableMachine& machine = recording_.machines[static_cast<std::size_t>(index)];
      left.gpus -= machine.gpus;
      if (!left.of_types.empty()) {
        left.of_types[static_cast<std::size_t>(machine.type)] -= machine.gpus;
      }
    }
  }

  [[nodiscard]] std::optional<std::size_t> fastest(const Left& left) const {
    if (left.of_types.empty()) return fastest_[static_cast<std::size_t>(left.gpus)];
    return fastest_rung(rungs_, left.gpus, left.of_types);
  }

  void run_from(std::size_t i) {
    Left left{recording_.changes[i].gpus, recording_.changes[i].of_types};
    std::optional<std::size_t> rung = fastest(left);
    for (std::size_t j = i + 1; j < at_.size(); ++j) {
      const bool is_end = j + 1 == at_.size();
      if (!rung || is_beaten(i, i + (j - i) / 2, j, *rung)) return;
      run(i, j, *rung);
      if (is_end) return;
      leave_what_is_left(i, j, left);
      rung = fastest(left);
    }
  }

  // Whether a segment from i to j, on which this rung is left, and all longer ones, are no better
  // than those that begin at k between them: what was there at i and is left later was there at k
  // too. So the segment from k is never slower, and if it is ahead when it starts, it stays ahead.
  // It must be ahead by a write of the fastest rung: a segment of the other may end where a
  // checkpoint was just written.
  [[nodiscard]] bool is_beaten(std::size_t i, std::size_t k, std::size_t j,
                               std::size_t rung) const {
    if (k == i) return false;
    const Duration begins = at_[k] + costs_.planned();
    if (at_[j] < begins) return false;
    const double best = std::max(saved_[i], stopped_[i]);  // as if it restarted at no cost
    const double its = best + rungs_[rung].steps_per_second() * to_seconds(begins - at_[i]);
    const double write = rungs_.back().steps_per_second() * to_seconds(costs_.write);
    return saved_[k] > its + write;
  }

  // A rung from change i to change j.
  void run(std::size_t i, std::size_t j, std::size_t rung) {
    const double speed = rungs_[rung].steps_per_second();
    const Duration after_save = i == 0 ? Duration{} : costs_.planned();
    const Duration after_stop = i == 0 ? Duration{} : costs_.restart;
    for (const auto& [value, cost] :
         {std::pair{saved_[i], after_save}, std::pair{stopped_[i], after_stop}}) {
      const Duration runs = std::max(Duration{}, at_[j] - at_[i] - cost);
      const double kept = value + speed * to_seconds(runs);
      improve(saved_[j], kept);
      if (kept <= stopped_[j]) continue;
      const Duration unsaved = costs_.every > Duration{} ? runs % costs_.every : Duration{};
      improve(stopped_[j], kept - speed * to_seconds(unsaved));
    }
  }

  const Availability& recording_;
  const std::vector<Rung>& rungs_;
  const ChangeCosts& costs_;
  std::vector<Duration> at_;  // of every change, and of the end
  std::vector<double> saved_, stopped_;
  std::vector<std::size_t> added_in_;                // by machine: the change that brought it
  std::vector<std::optional<std::size_t>> fastest_;  // by GPUs, where types are not counted
};

}  // namespace

double most_steps(const Availability& recording, const std::vector<Rung>& rungs,
                  const ChangeCosts& costs) {
  return Hindsight(recording, rungs, costs).most();
}

}  // namespace penstock
