// The commands that take the files which were typed, where the verb that was asked takes others: a
// script is checked, a log is compared with a plan, and of a model a plan is made first.
#pragma once

#include <string>
#include <string_view>

#include "cli/io/answer.h"

namespace penstock {

// A sentence for "help:"; empty where the verb takes what was typed, or where no word names a file
// of a known kind. `arguments`: behind the verb.
std::string help_for_files(std::string_view verb, const Arguments& arguments);

// "make a plan from it: penstock plan config.json ... -o plan.json; then penstock explain
// plan.json": the options that were typed stand with the verb that has them. The model comes first.
std::string help_for_plan_first(std::string_view verb, const Arguments& arguments);

// "multi --models a.json,b.json": Error{kBadInput} with the list of jobs that they are.
void refuse_models_of_multi(const Arguments& arguments);

}  // namespace penstock
