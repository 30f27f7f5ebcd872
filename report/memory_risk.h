// Estimated peaks of memory are wrong by some percent: would a plan still fit with as much more
// as published runs took?
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/values/evaluation.h"

namespace penstock {

// By how much measured peaks were above estimated ones, at most: 6.7 % of the 17 that torchtitan
// published (docs/accuracy.md, "Sharded weights").
inline constexpr double kMostAboveEstimate = 0.07;

// "Memory may be up to 7 % above the estimate, as in published runs"
std::string memory_risk_words();

// Whether all ranks have room for that much more than was estimated.
bool fits_with_margin(const Evaluation& evaluation);

// The place of the first plan (ascending step time) that fits with that margin.
std::optional<std::size_t> roomier_plan(const std::vector<RankedPlan>& plans);

// The reserve, in whole GiB, with which every plan that fits has that margin beside the reserve it
// was planned with, as --reserve-gib takes it. `evaluation` must have ranks.
int reserve_with_margin(const Evaluation& evaluation);

}  // namespace penstock
