// The name of an option without its dashes, in small letters and with '-' between its parts.
#pragma once

#include <algorithm>
#include <string>

#include "cli/answers/commands/given_options.h"
#include "cli/words/field_words.h"

namespace penstock {

inline std::string plain_name(const std::string& name) {
  return plain_word(name.substr(std::min(name.find_first_not_of('-'), name.size())));
}
inline std::string plain_name(const GivenOption& option) { return plain_name(option.name); }

}  // namespace penstock
