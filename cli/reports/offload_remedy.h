// What keeping the optimizer's state on the host would do: where nothing fits without it, and where
// something does.
#pragma once

#include <optional>
#include <string>

#include "search/best_plans.h"
#include "search/question.h"

namespace penstock {

// One sentence, with the option that asks for it; empty where that does not help, or was asked.
std::string offload_remedy(Question question, SearchProgress& progress);

// The fastest such plan, where it takes at least a hundredth less than the best of `found`. A
// second search, which bounds end early where memory is not what slows the plans down.
std::optional<RankedPlan> faster_with_offload(Question question, const SearchResult& found,
                                              SearchProgress& progress);
// "With the optimizer's state on the host a step takes 62.9 s, 22.8 % less, as ..."
std::string offload_gain_text(const RankedPlan& best, const RankedPlan& offloaded);

}  // namespace penstock
