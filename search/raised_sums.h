// What sections that recompute take beside others that do not (costmodel/plan_sections.h).
#pragma once

#include <memory>
#include <vector>

#include "core/values/plan.h"
#include "core/values/profile.h"
#include "search/section_sums.h"

namespace penstock {

// The sums of the mode, raised where they are less than in mode "none". Keeps both by reference.
class RaisedSums {
 public:
  RaisedSums(const ModelProfile& profile, const Plan& plan, const RankSums& recomputed,
             const RankSums& kept);
  [[nodiscard]] const RankSums& sums() const { return sums_; }

 private:
  std::vector<std::unique_ptr<const SectionSums>> raised_;
  RankSums sums_;
};

}  // namespace penstock
