// Numbers that an answer can work out by what else was typed, so that nobody has to: the tokens of
// so many steps, the virtual stages of so many layers.
#pragma once

#include <string>
#include <vector>

#include "cli/answers/options/unread_options.h"

namespace penstock {

struct WorkedOut {
  Arguments words;   // in place of the option: {"--tokens", "2097152000000"}
  std::string help;  // with where they come from; empty where a number is missing
};
WorkedOut worked_out(const UnreadOption& option, const std::vector<UnreadOption>& all,
                     const Arguments& read, const Asked& asked);

}  // namespace penstock
