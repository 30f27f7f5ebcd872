// Spreadsheets and Windows' editors begin a text in UTF-8 with three bytes that are no part of it.
#pragma once

#include <string_view>

namespace penstock {

constexpr std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  return text.starts_with(kMark) ? text.substr(kMark.size()) : text;
}

}  // namespace penstock
