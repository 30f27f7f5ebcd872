// Values that several readers take from a JSON reader. Private to core/.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "core/values/json_reader.h"

namespace penstock {

inline constexpr int kMostInt = std::numeric_limits<int>::max();

inline int read_int(const JsonReader& reader, int least, int most = kMostInt) {
  return static_cast<int>(reader.integer(least, most));
}

inline std::vector<int> read_ints(const JsonReader& reader, int least, int most) {
  std::vector<int> values;
  for (const JsonReader& element : reader.elements()) {
    values.push_back(read_int(element, least, most));
  }
  return values;
}

inline std::vector<std::string> read_strings(const JsonReader& reader) {
  std::vector<std::string> values;
  for (const JsonReader& element : reader.elements()) values.push_back(element.string());
  return values;
}

}  // namespace penstock
