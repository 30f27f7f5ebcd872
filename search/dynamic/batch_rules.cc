#include "search/dynamic/batch_rules.h"

#include <algorithm>
#include <cstdint>

namespace penstock {

std::vector<BatchRule> rules_of(BatchMethod method, const Plan& layout, double whole) {
  const double of_replica = whole / layout.data;
  std::vector<BatchRule> rules;
  for (const int per_rank : {1, 2, 4, 8, 16, 32}) {
    const double amount = of_replica / (static_cast<double>(per_rank) * layout.pipeline);
    const BatchRule rule{method, std::max<std::int64_t>(1, static_cast<std::int64_t>(amount))};
    if (rules.empty() || !(rules.back() == rule)) rules.push_back(rule);
  }
  return rules;
}

std::vector<BatchRule> rival_rules(const Plan& layout, double tokens, double samples) {
  std::vector<BatchRule> rules = rules_of(BatchMethod::kTokenBudget, layout, tokens);
  for (const BatchRule& rule : rules_of(BatchMethod::kFixedSize, layout, samples)) {
    rules.push_back(rule);
  }
  return rules;
}

}  // namespace penstock
