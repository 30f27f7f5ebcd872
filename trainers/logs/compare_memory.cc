#include "trainers/logs/compare_memory.h"

#include <algorithm>
#include <cstddef>

namespace penstock {
namespace {

Bytes without_reserve(const RankEvaluation& rank) {
  return rank.memory.total() - rank.memory.reserve;
}

}  // namespace

std::vector<MemoryComparison> compare_memory(const PlanFile& plan,
                                             const std::vector<LoggedMemory>& memory) {
  const std::vector<RankEvaluation>& ranks = plan.prediction.ranks;
  std::vector<MemoryComparison> result;
  result.reserve(memory.size());
  for (const LoggedMemory& logged : memory) {
    const auto at = static_cast<std::size_t>(std::max(logged.rank, 0) /
                                             (plan.plan.data * plan.plan.devices_per_rank()));
    if (at >= ranks.size()) continue;
    Bytes predicted = without_reserve(ranks[at]);
    if (logged.rank < 0) {
      for (const RankEvaluation& rank : ranks) {
        predicted = std::max(predicted, without_reserve(rank));
      }
    }
    result.push_back({.rank = logged.rank,
                      .predicted = predicted,
                      .allocated = logged.allocated,
                      .reserved = logged.reserved});
  }
  return result;
}

}  // namespace penstock
