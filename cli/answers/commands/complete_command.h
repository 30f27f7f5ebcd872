// A command of a search or a prediction that lacks what only the person knows.
#pragma once

#include <string>

#include "cli/io/answer.h"

namespace penstock {

// `words` with that batch where none was typed, and examples of what else the verb needs. `read`:
// the words as read_by_verb() made them.
std::string complete_command(const std::string& verb, Arguments words, const Arguments& read,
                             const std::string& batch);

}  // namespace penstock
