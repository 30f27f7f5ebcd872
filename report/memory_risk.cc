#include "report/memory_risk.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace penstock {
namespace {

double count_of(Bytes bytes) { return static_cast<double>(bytes.count); }

}  // namespace

std::string memory_risk_words() {
  return fmt::format("Memory may be up to {:.0f} % above the estimate, as in published runs",
                     100.0 * kMostAboveEstimate);
}

bool fits_with_margin(const Evaluation& evaluation) {
  return std::all_of(evaluation.ranks.begin(), evaluation.ranks.end(),
                     [](const RankEvaluation& rank) {
                       return count_of(rank.memory.total()) * (1.0 + kMostAboveEstimate) <=
                              count_of(rank.capacity);
                     });
}

std::optional<std::size_t> roomier_plan(const std::vector<RankedPlan>& plans) {
  const auto found = std::find_if(plans.begin(), plans.end(), [](const RankedPlan& ranked) {
    return fits_with_margin(ranked.evaluation);
  });
  if (found == plans.end()) return std::nullopt;
  return static_cast<std::size_t>(found - plans.begin());
}

// total (1 + m) <= capacity, where a reserve R' in place of R has total + R' - R <= capacity:
// R' = R + capacity m / (1 + m).
int reserve_with_margin(const Evaluation& evaluation) {
  double most = 0.0;
  for (const RankEvaluation& rank : evaluation.ranks) {
    most = std::max(most, count_of(rank.memory.reserve) + count_of(rank.capacity) *
                                                              kMostAboveEstimate /
                                                              (1.0 + kMostAboveEstimate));
  }
  return static_cast<int>(std::ceil(most / 0x1p30));
}

}  // namespace penstock
