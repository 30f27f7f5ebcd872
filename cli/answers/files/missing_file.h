// A name in the first place of which there is no file: what it would be, by its name, and what was
// probably meant.
#pragma once

#include <string>

#include "cli/io/answer.h"

namespace penstock {

// Error{kMissingResource}; where nothing better is known of it than that it is not there, whoever
// reads it says so. `takes`: what the verb is given first, "PLAN".
void refuse_missing_file(const std::string& verb, const std::string& takes,
                         const Arguments& arguments);

}  // namespace penstock
