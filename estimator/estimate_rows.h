// The rows of a profile that one key of a section has, one for each recompute mode: counts over
// rates, split into named terms. Private to estimator/.
#pragma once

#include <functional>
#include <vector>

#include "core/values/profile.h"
#include "estimator/count_operations.h"
#include "estimator/count_recompute.h"
#include "estimator/efficiency.h"
#include "estimator/estimate_choices.h"

namespace penstock {

// What a section computes again and keeps; none: it has nothing to compute again.
using CountAgain = std::function<RecomputeCounts(Recompute)>;

std::vector<Measurement> estimate_rows(const EstimateChoices& choices, const Rates& rates,
                                       const SectionCounts& counts, const CountKey& key,
                                       Place place, const CountAgain& again);

// Does the host take longer to launch a row's forward than the device to compute it?
bool waits_for_launches(const Measurement& row);

}  // namespace penstock
