// What a plan's prices rest on that was not measured, and how far the step time may be off for it.
#pragma once

#include <vector>

#include "core/evaluation.h"
#include "costmodel/price_stages.h"

namespace penstock {

// Two measured runs of one plan differ by 5 % on average (Sailor, SOSP'25).
inline constexpr double kRunToRun = 0.05;

// Fills assumptions and uncertainty of `pricing`, whose prices and levels are set. `level_used`
// tells per level of the cluster whether any transfer or collective of the plan crosses it.
void weigh_assumptions(const ModelProfile& profile, const ClusterSpec& cluster, const Plan& plan,
                       const RankTables& tables, const std::vector<bool>& level_used,
                       StagePricing& pricing);

}  // namespace penstock
