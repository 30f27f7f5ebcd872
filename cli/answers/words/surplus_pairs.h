// Pairs and degrees that stand without the option they belong to: "--layout TP=8 PP=4", "tp=8
// gpus=64", "+model.seq_length=4096", "tp 8 pp 4".
#pragma once

#include <string>

#include "cli/answers/words/surplus_word.h"

namespace penstock {

// All that stand there as KEY=VALUE, as options: as other tools write them, unless they are the
// rest of a list.
std::string help_for_assignment(const SurplusWord& surplus);
// "tp 8 pp 4", "why not pp=4", and of `compare` "tp 1,2,4".
std::string help_for_degrees(const SurplusWord& surplus);

}  // namespace penstock
