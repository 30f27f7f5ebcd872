// Numbers as tools print them for people. Private to report/ and trainers/.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace penstock {

std::string_view trimmed(std::string_view text);
// The whole text as a number >= 0, thousands commas allowed where they belong; else nothing.
std::optional<std::int64_t> whole_number(std::string_view text);
std::optional<double> real_number(std::string_view text);

}  // namespace penstock
