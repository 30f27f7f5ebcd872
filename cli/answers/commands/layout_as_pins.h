// The layout of a prediction as the options of a search, which then has that layout to plan for.
#pragma once

#include <string>
#include <string_view>

#include "cli/io/answer.h"

namespace penstock {

// "--layout 'TP=8 PP=2 DP=1 mbs=1 gbs=64'" of `plan` and `compare` as "--pin TP=8,PP=2,DP=1,mbs=1
// --global-batch 64 --gpus 16"; what else is typed, or to other verbs, stays.
Arguments with_layout_as_pins(std::string_view verb, const Arguments& words);

// "help: write --pin TP=4" where --tp 3 was typed: the message with the whole command, in which the
// pins stand in its place. `typed`: the verb and what stands behind it.
std::string with_pins_in_place(std::string message, const Arguments& typed);

}  // namespace penstock
