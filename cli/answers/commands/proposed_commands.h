// The commands in a help text that can be pasted as they stand.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "cli/io/answer.h"

namespace penstock {

struct ProposedCommand {
  std::size_t begin = 0;          // in the text, of "penstock"
  Arguments words;                // behind it
  std::vector<std::size_t> ends;  // of each of them in the text
  // How many of the words may be the command, ascending up to all: where prose follows, as in
  // "penstock trace plan.json draws a step", it looks like words of the command.
  std::vector<std::size_t> lengths;
  bool follows = false;  // ".. ; then penstock ..": it needs what the one before makes
};

// Those without places that the reader must fill ("FILE", "N", "..").
std::vector<ProposedCommand> proposed_commands(std::string_view text);

// "FILE", "N", "VALUE,VALUE", "on|off", "TP=..", "list": to be replaced before the command can be
// run, or to be answered with a list.
bool has_place(std::string_view word);

// "penstock compare ... --vary TP=1,2", which shows a part.
struct OpenCommand {
  std::size_t begin = 0, end = 0;  // in the text, of "penstock" and behind the last word
  Arguments words;                 // the verb and the others, without the dots
};
std::vector<OpenCommand> open_commands(std::string_view text);

// The options with which a help text begins, "write --device h100-sxm --gpus 8 in place of ..":
// their words; empty where it begins otherwise or has places to fill.
Arguments proposed_options(std::string_view help);

}  // namespace penstock
