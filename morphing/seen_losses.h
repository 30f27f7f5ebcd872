// How often a plan on so many GPUs would be broken, from what has happened so far: the memory of a
// policy.
#pragma once

#include <vector>

#include "core/values/availability.h"
#include "morphing/rungs.h"

namespace penstock {

class SeenLosses {
 public:
  // `names_machines`: which machine is lost is known; else idle GPUs are lost first. `most`: that a
  // plan uses, of each type where types are counted.
  SeenLosses(bool names_machines, const std::vector<int>& most);

  // In order of time; not before the last change.
  void observe(const AvailabilityChange& change);
  void pass(Duration now);

  // Losses per second that would break a plan on so many GPUs (of each type, where types are
  // counted), over the time in which there were so many. `prior`: losses that are taken to have
  // been seen in kPriorTime before the first change.
  [[nodiscard]] double rate(const Rung& rung, double prior) const;
  // How often per second there were `needed` GPUs more, as machines came (or, without names, the
  // number of GPUs rose), over the time in which a plan could have used more.
  [[nodiscard]] double gain_rate(int needed) const;
  // Since the first change.
  [[nodiscard]] double elapsed() const { return elapsed_; }

  static constexpr double kPriorTime = 1800.0;  // seconds

 private:
  struct Level {
    double exposed = 0.0;      // seconds with at least so many GPUs
    double losses = 0.0;       // how often there were fewer afterwards
    double quiet_since = 0.0;  // `exposed` at the last of them
  };

  [[nodiscard]] double losses_of(const Level& level) const;

  bool names_machines_;
  int most_gpus_;
  bool has_begun_ = false;
  Duration last_{};
  int gpus_ = 0;
  double elapsed_ = 0.0, gpu_seconds_ = 0.0;
  double could_gain_ = 0.0, gains_ = 0.0, gained_gpus_ = 0.0;
  // By type and number of GPUs; where machines have names, [0][1] stands for all losses.
  std::vector<std::vector<Level>> levels_;
  std::vector<int> there_;  // by type, as far as levels go
};

}  // namespace penstock
