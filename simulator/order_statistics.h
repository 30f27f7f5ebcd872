// What samples of a step time say, without assuming how they are distributed.
#pragma once

#include <vector>

#include "core/values/units.h"

namespace penstock {

// The q-th percentile of N samples is the smallest of them that at least q % of them do not exceed:
// number ceil(q N / 100) in ascending order. 200 samples: the 10th, the 100th, the 190th.
struct StepInterval {
  Duration low{};     // 5th percentile
  Duration median{};  // 50th
  Duration high{};    // 95th
  bool operator==(const StepInterval&) const = default;
};

// Of at least one sample.
StepInterval interval_of(std::vector<Duration> samples);

}  // namespace penstock
