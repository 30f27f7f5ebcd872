// A stage whose weights are sharded section by section (ZeRO-3, PyTorch's fully_shard) without a
// pipeline: what its forward and backward take when the sections' weights are gathered and their
// gradients reduced beside the compute of their neighbours.
#pragma once

#include <vector>

#include "core/values/plan.h"
#include "core/values/profile.h"
#include "core/values/stage_prices.h"
#include "costmodel/plan_wiring.h"
#include "costmodel/price_stages.h"

namespace penstock {

// One section of a micro-batch.
struct UnitTimes {
  Duration forward{}, backward{};  // compute, the backward with what it computes again
  Duration gather{};               // of weights; nothing where they stay whole (ZeRO-2)
  Duration scatter{}, reduce{};    // of gradients: within a group of shards, and over the groups
  Duration gather_copy{}, scatter_copy{};  // on the compute stream
  // Of the gather and of the scatter, what keeps busy whoever computes beside them: a rank's
  // processor that carries its messages itself, or the processors that NCCL's kernels take.
  Duration gather_busy{}, scatter_busy{};
  // Gathered for its backward when that of the section behind it has ended.
  bool gathers_late = false;
};

struct UnitsTime {
  Duration forward{}, backward{};  // of all sections, from the first gather to the last reduction
};
// Of sections in their order. The next gather and the last scatter run beside a section's compute,
// on one link; reductions over groups on links of their own. The first gather and the last
// reduction show, and of the others what takes longer than the compute beside them. The last
// section stays whole from forward to backward.
UnitsTime run_units(const std::vector<UnitTimes>& units);

// Adds to the forwards and backwards of the plan's only stage what that rule leaves to be seen.
// Nothing changes where no section reduces by itself.
void price_units(const ModelProfile& profile, const PlanWiring& wiring, const Plan& plan,
                 const RankTables& tables, StagePrices& prices);

}  // namespace penstock
