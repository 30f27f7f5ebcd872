// The parts of "a,b,c"; empty ones are left out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "cli/io/answer.h"

namespace penstock {

inline Arguments parted_at_commas(const std::string& list) {
  Arguments parts;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    if (end > at) parts.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

}  // namespace penstock
