// What a micro-batch of any shape costs on the stages of one layout: the planner of batches asks
// this, and nothing else knows whether prices were measured, interpolated or estimated.
#pragma once

#include <string>
#include <vector>

#include "core/values/batch.h"
#include "core/values/plan.h"
#include "core/values/stage_prices.h"
#include "costmodel/price_stages.h"

namespace penstock {

struct ShapeCost {
  ShapeStatus status = ShapeStatus::kKnown;
  std::string why_not;  // unless it is known
  StagePrices prices;   // of one pipeline (S = P * V) and this shape; nothing per step
};

// Of one stage what decides where samples are cut; ShapeCost::prices has the same figures.
struct StageLoad {
  Duration forward{}, fused_backward{}, recompute{};
  Bytes stash, working_peak;
  bool operator==(const StageLoad&) const = default;
};

// Of many shapes. Most of those that are weighed end up in no micro-batch, so their loads are
// found without the rest.
struct ShapeLoads {
  struct Known {
    ShapeStatus status = ShapeStatus::kKnown;
    std::string why_not;
  };
  std::vector<Known> shapes;     // in order
  std::vector<StageLoad> loads;  // [shape * S + stage]; of one without a price nothing of use
};

// Of one layout (P, V, T, D, cuts, devices) and one recompute mode. Several threads may ask at
// once.
class ShapeCosts {
 public:
  virtual ~ShapeCosts() = default;
  // Of every shape, in order. A pure function of each, whatever stands beside it.
  [[nodiscard]] virtual std::vector<ShapeCost> costs_of(
      const std::vector<MicroBatchShape>& shapes) const = 0;
  // The loads of every shape, as costs_of() has them, to the bit.
  [[nodiscard]] virtual ShapeLoads loads_of(const std::vector<MicroBatchShape>& shapes) const;
  // Whether more samples of the same lengths never take fewer bytes. Then a planner need not look
  // beyond the first range that does not fit.
  [[nodiscard]] virtual bool bytes_grow_with_samples() const { return true; }
  // What happens once per step and what stages keep, whatever the batch: `prices` without shapes.
  [[nodiscard]] virtual StagePricing step_pricing() const = 0;
  // Everything that a step of this plan is priced with: of every shape of its batch what costs_of()
  // says, and what happens once per step. All shapes are known ones.
  [[nodiscard]] virtual StagePricing prices_of(const Plan& plan) const = 0;
};

}  // namespace penstock
