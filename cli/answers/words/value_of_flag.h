// A word behind a flag, which takes none, or a unit behind a number: "--verbose 2", "--jitter 5",
// "--budget 1 minute".
#pragma once

#include <string>

#include "cli/answers/words/surplus_word.h"

namespace penstock {

std::string help_for_value_of_flag(const SurplusWord& surplus);
// Of a unit, wherever it stands.
std::string help_for_unit(const SurplusWord& surplus);

}  // namespace penstock
