// What a job keeps of its work on a recording of GPUs that come and go, under each policy: all with
// the book's plans (or one of them with other numbers of replicas), and the same costs of a change.
#pragma once

#include <string>
#include <vector>

#include "core/values/availability.h"
#include "core/values/plan_book.h"
#include "morphing/rungs.h"
#include "report/goodput_report.h"

namespace penstock {

inline constexpr const char* kHindsight = "hindsight";

// The most GPUs that a plan of the book may use; more of a recording stay idle under every policy.
int most_gpus(const PlanBook& book);

// A recording whose types are those of a book that counts types, in its order; with a book that
// does not, one whose GPUs are all of the type that the book is for counts them without it.
// Error{kBadInput}, which names `file`, where otherwise one of the two counts types and the other
// does not, and for a type that the book does not have.
Availability in_types_of(const PlanBook& book, Availability recording, const std::string& file);

// Penstock's policy first, bounds last. No policy keeps more than hindsight, which may run whatever
// one of them may.
std::vector<PolicyResult> compare_policies(const PlanBook& book, const Availability& recording,
                                           const ChangeCosts& costs);

}  // namespace penstock
