// Options as people know them from other tools, in the words of the verb at hand: "--tp 8" is
// "--pin TP=8" for plan, "--layout TP=8" for predict. What has no option here gets a sentence.
#pragma once

#include <string>
#include <vector>

#include "cli/io/answer.h"

namespace penstock {

// The arguments with every option that the verb does not have, but knows by another name, replaced
// by its own. `known`: the verb's options, "--gpus" and "-P". Error{kBadInput} with the remedy for
// those that have no equivalent ("--nodes", "--cp"); what is no word of the field stays as it is.
Arguments in_own_options(const Arguments& arguments, const std::vector<std::string>& known);

}  // namespace penstock
