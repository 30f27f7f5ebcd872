// What was typed takes the place of the examples in proposed commands.
#pragma once

#include <string>

#include "cli/answers/commands/tried_proposals.h"
#include "cli/io/answer.h"

namespace penstock {

// `message`: an error and its help lines; "penstock plan config.json --device h100-sxm --gpus 64"
// in it becomes "penstock plan llama.json --device h100-sxm --gpus 128" where llama.json and 128
// GPUs were typed; not where that would be refused and the example is not.
std::string with_typed_for_examples(std::string message, const Arguments& typed,
                                    const RefusalOf& refusal_of);

}  // namespace penstock
