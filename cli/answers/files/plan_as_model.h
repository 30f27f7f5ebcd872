// A plan where a model belongs: what it was made from takes its place, with the options that were
// typed.
#pragma once

#include <string>

#include "cli/io/answer.h"

namespace penstock {

// "predict plan.json --gpus 32": Error{kBadInput} with what the plan can be asked, and that
// command.
[[noreturn]] void refuse_plan_as_model(const std::string& verb, const Arguments& arguments);
// The files that a plan, which stands first, was made from in place of it; empty where it does not
// say them.
std::string command_for_its_model(const std::string& verb, Arguments arguments);
// "plan.json predicts 6.4 s, and 14.66s is 2.29 times that".
std::string compared_with_plan(const std::string& plan, const std::string& time);
// "validate plan.json step_time=4.61s": Error{kBadInput} of one time, which is no log.
void refuse_time_as_run(const std::string& verb, const Arguments& arguments);

}  // namespace penstock
