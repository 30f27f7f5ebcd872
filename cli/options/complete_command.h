// A command of a search or a prediction that lacks what only the person knows.
#pragma once

#include <string>

#include "cli/io/answer.h"

namespace penstock {

// `words` with a batch, and "..." where what the verb needs as well is not there. `read`: the words
// as read_by_verb() made them.
std::string complete_command(const std::string& verb, Arguments words, const Arguments& read,
                             const std::string& batch);

}  // namespace penstock
