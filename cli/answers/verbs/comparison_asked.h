// Layouts that are asked about against each other, or within bounds, whose verb is `compare`.
#pragma once

#include <string>

#include "cli/io/answer.h"

namespace penstock {

// The whole command for "--dp 8 --vs --pp 8", "--strategy fsdp,pp" or "--tp '<=2'" of a model;
// empty of others. `words`: behind the verb.
std::string comparison_asked(const Arguments& words);

// The commands that make two plans which are not there yet, and show them beside each other: "diff
// fsdp.json pipeline.json"; empty of others.
std::string plans_to_compare(const Arguments& words);

}  // namespace penstock
