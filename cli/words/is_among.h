// Whether a word is one of several.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace penstock {

template <typename Words>
bool is_among(const Words& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

inline bool is_among(std::initializer_list<std::string_view> words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace penstock
