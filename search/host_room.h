// Whether the hosts of a plan's nodes have room for what its ranks keep there.
#pragma once

#include <optional>

#include "core/values/evaluation.h"
#include "core/values/plan.h"
#include "core/values/stage_prices.h"
#include "search/evaluate.h"

namespace penstock {

inline constexpr const char* kOverHost = "the optimizer's state over the memory of the hosts";

// Nothing where the plan keeps nothing there, and where there is room.
std::optional<Rejection> over_host_memory(const PlanInputs& inputs, const Plan& plan,
                                          const StagePrices& prices);

// Why no host of this cluster can update for the plan, under this executor; empty when one can.
std::string why_no_offload(const PlanInputs& inputs, const Plan& plan);

}  // namespace penstock
