// Transfers between the stages of a plan by its wires alone: for bounds, before all of it is
// priced.
#pragma once

#include <cstdint>
#include <vector>

#include "core/values/cluster.h"
#include "core/values/plan.h"
#include "core/values/units.h"
#include "costmodel/plan_wiring.h"

namespace penstock {

// Whether a wiring of the first stage knows the links between all ranks of a plan, too: where nodes
// are alike they take no longer than its groups.
bool first_stage_knows_links(const ClusterSpec& cluster);

// Over the boundary behind a stage, and the gradient back over it.
struct BoundaryTimes {
  Duration there{}, back{};
};

// Behind every stage, as price_stages() has it where the sections send so many bytes: `boundary`.
// Empty where the wiring does not know the links, or messages also take of the ranks' own time.
std::vector<BoundaryTimes> transfer_prices(const PlanWiring& wiring, const Plan& plan,
                                           const std::vector<std::int64_t>& boundary);

}  // namespace penstock
