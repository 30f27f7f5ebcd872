// "whatif plan.json --network 2x", "compare plan.json --device h200-sxm": the question that a plan
// answers, asked again with something else beside what the plan has.
#pragma once

#include <string>

#include "cli/answers/commands/given_options.h"
#include "cli/answers/verbs/plan_made.h"
#include "cli/io/answer.h"

namespace penstock {

// The whole command of `compare` for the plan among the words, with a row for the plan's own value
// of each thing and one for what was typed; empty where nothing is varied, or where the plan does
// not say what it was made from. Bandwidths are varied by factors; some stand for one in Gb/s.
std::string plan_compared(const Arguments& words);

// "--lose-gpus 8", "--lose-gpus 50%", "--lost-nodes 1" of a plan: how many GPUs are left; 0 of
// other options.
int gpus_left(const GivenOption& option, const PlanMade& made);

}  // namespace penstock
