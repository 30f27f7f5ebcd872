// The groups of the search whose pipeline ranks are on several device types: ranks of one type in a
// row, the types in every order.
#pragma once

#include <cstdint>
#include <vector>

#include "search/candidates.h"
#include "search/incumbents.h"

namespace penstock {

// Of more types than this a plan uses at most so many.
inline constexpr std::size_t kMostTypesInOnePlan = 3;

struct MixedGroups {
  std::vector<CandidateGroup> groups;  // ascending bound; ties in order of enumeration
  std::int64_t candidates = 0, bounded = 0;
  Rejections rejected;
};

// `space` holds the keys of all types; `known` what was found on single types, so that groups whose
// bound loses are counted but not kept.
MixedGroups enumerate_mixed(const PlanInputs& inputs, const SearchRequest& request,
                            const SearchSpace& space, const Incumbents& known);

}  // namespace penstock
