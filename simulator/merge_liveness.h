// Replicas that are alike but for what they take (one has a micro-batch less) are told of as one:
// at no moment does any of them hold more than its ranks do.
#pragma once

#include <cstddef>
#include <vector>

#include "simulator/liveness.h"

namespace penstock {

// `more`: of the same ranks with the same stages. The peaks of both, and of transfers the most.
void merge_liveness(std::vector<RankLiveness>& ranks, const std::vector<RankLiveness>& more);

// So many ranks, each with what every so many behind it hold.
std::vector<RankLiveness> merged_liveness(std::vector<RankLiveness> ranks, std::size_t listed);

}  // namespace penstock
