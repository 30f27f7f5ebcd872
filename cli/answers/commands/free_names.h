// Files that an answer proposes to write, under names that are not taken.
#pragma once

#include <string>

#include "cli/io/answer.h"

namespace penstock {

// "penstock plan .. -o plan.json; then penstock explain plan.json" where a plan.json lies here that
// nobody typed: plan-2.json in both. `message`: an error and its help lines.
std::string with_free_names(std::string message, const Arguments& typed);

}  // namespace penstock
