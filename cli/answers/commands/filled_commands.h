// "penstock compare ... --vary TP=1,2,4" in an answer becomes a command that can be pasted: what
// was typed takes the place of the dots.
#pragma once

#include <string>

#include "cli/answers/commands/mended_command.h"
#include "cli/io/answer.h"

namespace penstock {

// `message`: an error and its help lines. Dots stay where nothing that was typed, nor the plan
// among it, fills them, or where the whole would be refused.
std::string with_filled_commands(std::string message, const Arguments& typed,
                                 const RefusalOf& refusal_of);

// The same of commands with examples for what nobody needs an example of: "penstock compare
// config.json --device h100-sxm --gpus 64 --global-batch 512 --vary mbs=1,2" where a model with its
// layout was typed.
std::string with_filled_examples(std::string message, const Arguments& typed,
                                 const RefusalOf& refusal_of);

}  // namespace penstock
