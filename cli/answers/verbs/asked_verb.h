// An unknown verb read together with the options and values behind it: "draw --schedule 1f1b --pp 4
// --num-microbatches 8", "whatif plan.json --network 2x", "sweep gpt2.json --jobs 24". What is
// asked then stands in the words as a whole, where the verb alone would say another thing.
#pragma once

#include <string>
#include <vector>

#include "cli/io/answer.h"

namespace penstock {

// A sentence for "help:" with the whole command; empty where the verb alone has to say it.
std::string help_for_asked(const std::string& verb, const Arguments& rest,
                           const std::vector<std::string>& known);

}  // namespace penstock
