// The argument without a name, typed with one: "PLAN=plan.json", as make and Hydra have it.
#pragma once

#include "cli/answers/options/word_index.h"
#include "cli/io/answer.h"

namespace penstock {

// Of the first argument; Error{kBadInput} with the whole command, in which further pairs of the
// verb's options ("gpus=64") are options.
void refuse_named_argument(const WordIndex& index, const Arguments& words);

}  // namespace penstock
