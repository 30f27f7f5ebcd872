// Of the plans that came closest to fit, the one that came closest of all.
#pragma once

#include <optional>
#include <vector>

#include "search/best_plans.h"
#include "search/evaluate.h"
#include "search/rejections.h"

namespace penstock {

// By what each is over on its fullest rank with everything that the rank holds: the search rejects
// many on a part of it, such as the parameters alone, and what they miss there says little. So the
// plans that take least memory are worked out as well: one replica on all GPUs, one sample a
// micro-batch, every recompute mode, as far as the pins allow. What the hosts lack counts as well.
// Nothing when no plan failed for memory.
std::optional<Rejection> nearest_miss(const PlanInputs& inputs, const SearchRequest& request,
                                      const std::vector<Rejections::Entry>& entries);

}  // namespace penstock
