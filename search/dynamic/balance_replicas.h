// Which replica takes which micro-batch, so that the busiest has as little to do as possible.
#pragma once

#include <vector>

namespace penstock {

// One list per replica, ascending; none is empty where there are as many as replicas. Multi-way
// Karmarkar-Karp, then moves and swaps while the largest sum falls.
std::vector<std::vector<int>> balance_replicas(const std::vector<double>& times, int replicas);

// The first part of it alone.
std::vector<std::vector<int>> differencing(const std::vector<double>& times, int replicas);

}  // namespace penstock
