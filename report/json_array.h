// A JSON array of what is made of each value.
#pragma once

#include <string>
#include <vector>

#include "core/values/json.h"

namespace penstock {

template <class Values, class Convert>
Json array_of(const Values& values, const Convert& convert) {
  Json json = Json::array();
  for (const auto& value : values) json.push(convert(value));
  return json;
}

inline Json strings(const std::vector<std::string>& texts) {
  return array_of(texts, [](const std::string& text) { return Json(text); });
}

}  // namespace penstock
