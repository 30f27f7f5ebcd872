// How often a plan on so many GPUs would have been broken so far: the memory of a policy.
#pragma once

#include <vector>

#include "core/values/availability.h"

namespace penstock {

class SeenLosses {
 public:
  // `names_machines`: which machine is lost is known; else idle GPUs are lost first. `most_gpus`:
  // that a plan uses.
  SeenLosses(bool names_machines, int most_gpus);

  // In order of time.
  void observe(const AvailabilityChange& change);

  // Losses that would have broken a plan on `used` GPUs while there are as many as now. Where
  // machines have names: the share of all losses that its GPUs have among those that were there.
  [[nodiscard]] double breaking(int used) const;
  // Since the first change.
  [[nodiscard]] Duration elapsed(Duration now) const;

 private:
  void observe_falls(int gpus);

  bool names_machines_;
  bool has_begun_ = false;
  Duration begin_{}, last_{};
  int gpus_ = 0;
  double losses_ = 0.0, gpu_seconds_ = 0.0;
  // By spare GPUs k: how often the number fell by more than k below the most since the last such
  // fall.
  std::vector<int> most_since_, falls_;
};

}  // namespace penstock
