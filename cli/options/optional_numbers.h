// Numbers of options that may be absent: what was given, else `otherwise`.
#pragma once

#include <optional>
#include <string>

#include "cli/options/parse.h"

namespace penstock {

inline int parse_count(const std::string& option, const std::optional<std::string>& text, int least,
                       int otherwise) {
  return text ? parse_int(option, *text, least) : otherwise;
}

inline double parse_rate(const std::string& option, const std::optional<std::string>& text,
                         double most, double otherwise) {
  return text ? parse_number(option, *text, 0.0, most) : otherwise;
}

// At least 0 and less than 1.
inline double parse_share(const std::string& option, const std::optional<std::string>& text,
                          double otherwise) {
  const double value = parse_rate(option, text, 1.0, otherwise);
  if (value >= 1.0) bad_option(option, "expected less than 1, got " + *text, "0.9 is usual");
  return value;
}

}  // namespace penstock
