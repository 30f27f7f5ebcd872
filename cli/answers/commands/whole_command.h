// Commands that can be pasted: what a verb needs and nobody typed stands in them as an example, and
// everything that was typed stays.
#pragma once

#include <string>
#include <string_view>

#include "cli/io/answer.h"

namespace penstock {

// "penstock plan config.json --device h100-sxm --gpus 64 --global-batch 512" of "config.json".
// Words that the verb does not take are kept, too.
std::string whole_command(std::string_view verb, Arguments words);

// The options among the words, and their values, that the verb takes beside such a first argument.
Arguments options_taken(std::string_view verb, const std::string& first, const Arguments& words);
// The files, and behind them those options.
Arguments with_taken(std::string_view verb, Arguments files, const Arguments& words);

// The whole command of these files with what the verb takes of the options among `words`, and what
// it has not: "penstock explain plan.json; it has no --cheapest".
std::string command_of_taken(std::string_view verb, const Arguments& files, const Arguments& words);

}  // namespace penstock
