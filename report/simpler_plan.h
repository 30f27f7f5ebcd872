// A plan that people would rather run than the fastest one, where that costs next to nothing. The
// ranking stays by time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/values/evaluation.h"

namespace penstock {

// The place of the simplest among the plans (ascending step time) that take at most 2 % more than
// the first one and are simpler: fewer pipeline ranks, kinds of parallelism or special ways (a
// schedule that trainers do not have by default, recompute or batches that differ between ranks,
// several types of GPUs), and use none that the first does not. Of equally simple ones the fastest.
// None: the first one is as simple.
std::optional<std::size_t> simpler_plan(const std::vector<RankedPlan>& plans);

// "PP 16 instead of 128, no context parallelism, schedule 1f1b": where `plan` is simpler than
// `first`.
std::string simpler_in(const Plan& plan, const Plan& first);

}  // namespace penstock
