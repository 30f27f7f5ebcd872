// Commands that a help text proposes are tried before it is printed: one that would be refused in
// its turn is mended, or the next error is told at once.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/io/answer.h"

namespace penstock {

// The text of the error that a command, behind "penstock", meets; nothing when it is carried out.
using RefusalOf = std::function<std::optional<std::string>(const Arguments&)>;

// `message`: an error and its help lines. `typed`: the command that met it. A proposal whose own
// help leads to a command that is taken gives way to that one.
std::string with_tried_proposals(std::string message, const Arguments& typed,
                                 const RefusalOf& refusal_of);

}  // namespace penstock
