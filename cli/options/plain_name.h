// The name of an option without its dashes, in small letters and with '-' between its parts.
#pragma once

#include <algorithm>
#include <string>

#include "cli/options/field_words.h"
#include "cli/options/given_options.h"

namespace penstock {

inline std::string plain_name(const std::string& name) {
  return plain_word(name.substr(std::min(name.find_first_not_of('-'), name.size())));
}
inline std::string plain_name(const GivenOption& option) { return plain_name(option.name); }

}  // namespace penstock
