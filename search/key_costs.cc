#include "search/key_costs.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace penstock {
namespace {

struct SectionCosts {
  std::int64_t work = 0, path = 0;
};
SectionCosts costs_of_section(const SectionSums& sums, std::size_t i) {
  const auto part = [i](const std::vector<std::int64_t>& prefix) {
    return prefix[i + 1] - prefix[i];
  };
  return {part(sums.mixed_work),
          part(sums.forward) + part(sums.first_gradient) + part(sums.recompute)};
}

}  // namespace

KeyCosts costs_of(const SearchKey& key) {
  const SectionSums& sums = key.sums;
  KeyCosts costs;
  costs.work = sums.mixed_work.back();
  costs.longest = sums.longest_mixed_work / 2;
  costs.path = sums.forward.back() + sums.first_gradient.back() + sums.recompute.back();
  if (key.kept == nullptr) return costs;
  costs.longest = costs.path = 0;
  for (std::size_t i = 0; i + 1 < sums.recompute.size(); ++i) {
    const SectionCosts own = costs_of_section(sums, i), kept = costs_of_section(*key.kept, i);
    if (own.work > kept.work && kept.work <= 0) return {};
    if (kept.work > 0) {
      const double less = static_cast<double>(own.work - kept.work);
      costs.kept = std::max(costs.kept, less / static_cast<double>(kept.work));
    }
    costs.longest = std::max(costs.longest, std::min(own.work, kept.work) / 2);
    costs.path += std::min(own.path, kept.path);
  }
  return costs;
}

Duration bound_of(const KeyCosts& costs, int pipeline, std::int64_t full) {
  std::int64_t mean = (costs.work + pipeline - 1) / pipeline;
  if (costs.kept > 0.0) {
    constexpr double kRounding = 1.0 - 1e-9;
    mean = static_cast<std::int64_t>(kRounding * static_cast<double>(costs.work) /
                                     (static_cast<double>(pipeline) + costs.kept));
  }
  return Duration{std::max(full * std::max(mean, costs.longest), full > 0 ? costs.path : 0)};
}

}  // namespace penstock
