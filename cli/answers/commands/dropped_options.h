// Nothing that was typed is dropped without a word: an option that a proposed command lacks is put
// into it where its verb takes it, and named below it where it does not.
#pragma once

#include <string>

#include "cli/answers/commands/tried_proposals.h"

namespace penstock {

// `message`: an error and its help lines, which were tried. `typed`: the command that met it.
std::string with_dropped_options(std::string message, const Arguments& typed,
                                 const RefusalOf& refusal_of);

}  // namespace penstock
