// Which rank of a job has which device type, where the plan uses several.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/values/plan.h"

namespace penstock {

// By rank of the job: ranks of a tensor-parallel group are neighbours.
std::vector<std::string> devices_of_ranks(const Plan& plan);

// A launcher numbers ranks by machine, all of one type after all of another: so many of each.
using RanksOfTypes = std::vector<std::pair<std::string, int>>;

// The rank that a launcher's rank is in the plan: the first of a type by the launcher is the first
// of that type by the plan. Those that the plan has no use for follow behind its ranks, each with a
// number of its own. Error{kBadInput} for a rank beyond all of `launched`.
int rank_in_plan(const std::vector<std::string>& devices, const RanksOfTypes& launched, int rank);

}  // namespace penstock
