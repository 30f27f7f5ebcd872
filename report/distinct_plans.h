// Of ranked plans those that differ in what people choose. The others are twins.
#pragma once

#include <cstddef>
#include <vector>

#include "core/values/evaluation.h"

namespace penstock {

// Twins have the same TP, PP, DP, VP, micro-batch size, schedule and recompute, and so differ in
// placement, ZeRO-1 or cuts only.
bool are_twins(const Plan& a, const Plan& b);

// The places in `plans` (ascending step time) of at most `most` plans of which no two are twins or
// look-alikes: the same TP, PP, DP, micro-batch size, schedule and mode of recompute, and step
// times within 1 %. Of each such family the first is kept.
std::vector<std::size_t> distinct_plans(const std::vector<RankedPlan>& plans, std::size_t most);

}  // namespace penstock
