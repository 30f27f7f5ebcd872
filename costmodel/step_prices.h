// What the stages of a plan do once per step: reductions over replicas and tied weights, optimizer,
// norm; and the state they keep for it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/values/plan.h"
#include "core/values/plan_file.h"
#include "core/values/profile.h"
#include "core/values/stage_prices.h"
#include "costmodel/plan_wiring.h"

namespace penstock {

// Parameters of this tensor degree, or nothing when the profile has no count for it; of sections
// with experts see held_parameters().
std::optional<std::int64_t> parameters_at(const std::vector<ParameterCount>& counts,
                                          int tensor_degree);

struct StepPrices {
  std::vector<StepPrice> step;           // per stage
  std::vector<std::int64_t> parameters;  // of the stages of one copy, each tied tensor once
  std::vector<TiedPrice> tied_reduce;    // as in StagePrices
  std::vector<PlanTie> ties;             // one per entry of tied_reduce
  Price norm;                            // the longest part of a rank, and the all-reduce
  std::vector<bool> level_used;          // per level of the cluster, by any of the collectives
};
StepPrices price_steps(const ModelProfile& profile, const PlanWiring& wiring, const Plan& plan);

// What ends a step by the first stage alone, no more than price_stages() says: for bounds. Of plans
// on one device type whose state stays there; of others nothing.
struct FirstStageEnd {
  Duration reduce{};      // behind its last backward, what no compute can hide
  Duration after_norm{};  // its update; and its gather, where its rank has no other
};
// `wiring`: of the first stage is enough.
FirstStageEnd first_stage_end(const ModelProfile& profile, const PlanWiring& wiring,
                              const Plan& plan);

}  // namespace penstock
