// What a job keeps of its work on a recording of GPUs that come and go, under each policy: all with
// the book's plans (or one of them with other numbers of replicas), and the same costs of a change.
#pragma once

#include <vector>

#include "core/values/availability.h"
#include "core/values/plan_book.h"
#include "morphing/rungs.h"
#include "report/goodput_report.h"

namespace penstock {

inline constexpr const char* kHindsight = "hindsight";

// The most GPUs that a plan of the book may use; more of a recording stay idle under every policy.
int most_gpus(const PlanBook& book);

// Penstock's policy first, bounds last. No policy keeps more than hindsight, which may run whatever
// one of them may.
std::vector<PolicyResult> compare_policies(const PlanBook& book, const Availability& recording,
                                           const ChangeCosts& costs);

}  // namespace penstock
