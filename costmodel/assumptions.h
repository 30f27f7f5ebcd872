// What a plan's prices rest on that was not measured, and how far the step time may be off for it.
#pragma once

#include <vector>

#include "core/values/evaluation.h"
#include "core/values/profile.h"
#include "costmodel/price_stages.h"

namespace penstock {

// Two measured runs of one plan differ by 5 % on average (Sailor, SOSP'25).
inline constexpr double kRunToRun = 0.05;

struct PriceBasis {
  std::vector<Assumption> assumptions;
  // Of the step time, relative to it, from docs/cost_model.md, "Intervals".
  ErrorBand interval;
  // The part of its longer side that a calibration's own interval stands for: what one run differs
  // from the next, and times that were not measured.
  double before_calibration = 0.0;
};

// Of a plan that price_stages() has priced from the same tables. `splits_backward`: its schedule
// takes I and W apart, so that the division of a measured B between them matters.
PriceBasis weigh_assumptions(const ModelProfile& profile, const ClusterSpec& cluster,
                             const Plan& plan, const RankTables& tables,
                             const StagePricing& pricing, bool splits_backward);

}  // namespace penstock
