// What to do about a first word that is no verb: what other tools call it, what a part of it says,
// the nearest verb.
#pragma once

#include <string>
#include <vector>

#include "cli/io/answer.h"

namespace penstock {

// A sentence for "help:"; `arguments`: that word and all behind it, which it keeps.
std::string help_for_verb(const Arguments& arguments, const std::vector<std::string>& known);
// The verb of this name, or the one that other tools call so; empty where there is none or several.
std::string verb_meant(const std::string& typed, const std::vector<std::string>& known);

}  // namespace penstock
