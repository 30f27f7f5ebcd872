// The step of a schedule by section 1.2 of the rules taken literally, without lowering and without
// any engine: the oracle of both.
#pragma once

#include <vector>

#include "core/values/schedule.h"
#include "core/values/stage_prices.h"

namespace penstock::testing {

// Compute and transfers only, transfers occupy nothing. `shapes`: of every micro-batch; empty: all
// have the first.
Duration by_the_rules(const Schedule& schedule, const StagePrices& prices,
                      const std::vector<int>& shapes = {});

}  // namespace penstock::testing
