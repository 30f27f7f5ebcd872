// Whether a text is a whole number without a sign.
#pragma once

#include <string_view>

namespace penstock {

inline bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace penstock
