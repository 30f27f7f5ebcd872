#include "core/plan.h"

#include <algorithm>
#include <functional>

#include "core/evaluation.h"

namespace penstock {

std::vector<int> Plan::stages_of_rank(int rank) const {
  if (stage_map != StageMap::kLoop) return {rank, 2 * pipeline - 1 - rank};
  std::vector<int> held;
  held.reserve(static_cast<std::size_t>(chunks));
  for (int stage = rank; stage < stages(); stage += pipeline) held.push_back(stage);
  return held;
}

int samples_of_replica(const Plan& plan, int index) {
  return plan.global_batch / plan.data + (index < plan.global_batch % plan.data ? 1 : 0);
}

std::vector<int> micro_batch_shapes(const Plan& plan) {
  std::vector<int> sizes;
  // Replicas differ by at most one sample: the first takes most, the last takes least.
  for (const int replica : {0, plan.data - 1}) {
    const int samples = samples_of_replica(plan, replica);
    if (samples >= plan.micro_batch_size) sizes.push_back(plan.micro_batch_size);
    if (samples % plan.micro_batch_size > 0) sizes.push_back(samples % plan.micro_batch_size);
  }
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

Bytes Evaluation::peak_memory() const {
  Bytes peak;
  for (const RankEvaluation& rank : ranks) peak = std::max(peak, rank.memory.total());
  return peak;
}

}  // namespace penstock
