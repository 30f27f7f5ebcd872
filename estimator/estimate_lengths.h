// An estimate for micro-batches of many shapes: one profile that holds every length of a grid.
#pragma once

#include <cstdint>
#include <vector>

#include "core/values/architecture.h"
#include "core/values/device_sheet.h"
#include "core/values/estimate.h"
#include "estimator/efficiency.h"

namespace penstock {

// Powers of two from 16 on, and `longest` itself, which ends it.
std::vector<int> grid_of_lengths(int longest);

// Of each length, micro-batches of 1, 2, 4, ... samples up to so many tokens. Sources and
// assumptions are those of the longest. Error{kBadInput} as estimate_profile().
Estimate estimate_lengths(const Architecture& model, const DeviceSheet& device,
                          const Efficiency& efficiency, EstimateRequest request,
                          const std::vector<int>& lengths, std::int64_t most_tokens);

}  // namespace penstock
