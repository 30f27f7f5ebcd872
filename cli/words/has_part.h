// Whether a name, in small letters with '-' between its parts, has one of the words as a part.
#pragma once

#include <initializer_list>
#include <sstream>
#include <string>
#include <string_view>

#include "cli/words/is_among.h"

namespace penstock {

inline bool has_part(const std::string& plain, std::initializer_list<std::string_view> wanted) {
  std::istringstream parts(plain);
  for (std::string part; std::getline(parts, part, '-');) {
    if (is_among(wanted, part)) return true;
  }
  return false;
}

}  // namespace penstock
