// A second file where a verb takes one model: another model, its profile, or its cluster.
#pragma once

#include <string>

#include "cli/answers/words/surplus_word.h"

namespace penstock {

// "config.json profile.json", "profile.json config.json", "config.json cluster.json".
std::string help_for_second_model(const SurplusWord& surplus);

}  // namespace penstock
