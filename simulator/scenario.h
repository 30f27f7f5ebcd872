// A named scenario: the same Program on a machine of which some parts are slow.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/values/factor.h"
#include "core/values/program.h"
#include "core/values/stage_prices.h"

namespace penstock {

// A rank of the pipeline (in every replica) whose compute, the optimizer included, takes `factor`
// times as long.
struct SlowRank {
  int rank = 0;
  Factor factor;
  // Only in this distinct pipeline of the Program, which must have shapes of micro-batches of its
  // own (the optimizer has one price for all pipelines); none: in all of them.
  std::optional<int> pipeline{};
  bool operator==(const SlowRank&) const = default;
};

// The link between two ranks of the pipeline: every transfer between them, in both directions.
struct SlowLink {
  int one = 0, other = 0;
  Factor factor;
  bool operator==(const SlowLink&) const = default;
};

struct Scenario {
  std::vector<SlowRank> ranks;
  std::vector<SlowLink> links;
  bool operator==(const Scenario&) const = default;
};

// A rank that the pipeline does not have, or a link that no transfer uses; empty when there is
// none.
std::string why_not_slowed(const Program& program, const Scenario& scenario);

// Prices under the scenario, rounded up; spreads stay in proportion. Collectives keep their prices.
// Error{kBadInput} with why_not_slowed().
StagePrices slowed(StagePrices prices, const Program& program, const Scenario& scenario);

}  // namespace penstock
