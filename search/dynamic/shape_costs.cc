#include "search/dynamic/shape_costs.h"

#include <algorithm>
#include <cstddef>

#include "core/values/durations.h"

namespace penstock {

ShapeLoads ShapeCosts::loads_of(const std::vector<MicroBatchShape>& shapes) const {
  const std::vector<ShapeCost> costs = costs_of(shapes);
  std::size_t stages = 0;  // of a shape without a price nobody says
  for (const ShapeCost& cost : costs) stages = std::max(stages, cost.prices.compute.size());
  ShapeLoads loads;
  loads.shapes.reserve(costs.size());
  loads.loads.resize(costs.size() * stages);
  for (std::size_t i = 0; i < costs.size(); ++i) {
    loads.shapes.push_back({costs[i].status, costs[i].why_not});
    if (costs[i].status != ShapeStatus::kKnown) continue;
    for (std::size_t s = 0; s < stages; ++s) {
      const auto time = [&](ActionKind kind) {
        return price_alone(costs[i].prices, kind, {static_cast<int>(s)});
      };
      const ComputePrice& holds = costs[i].prices.compute[s];
      loads.loads[i * stages + s] = {time(ActionKind::kForward), time(ActionKind::kFusedBackward),
                                     time(ActionKind::kRecompute), holds.stash, holds.working_peak};
    }
  }
  return loads;
}

}  // namespace penstock
