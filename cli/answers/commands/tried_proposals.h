// Commands that a help text proposes are tried before it is printed: one that would be refused in
// its turn is mended, or the next error is told at once.
#pragma once

#include <string>

#include "cli/answers/commands/mended_command.h"
#include "cli/io/answer.h"

namespace penstock {

// `message`: an error and its help lines. `typed`: the command that met it. A proposal whose own
// help leads to a command that is taken gives way to that one.
std::string with_tried_proposals(std::string message, const Arguments& typed,
                                 const RefusalOf& refusal_of);

}  // namespace penstock
