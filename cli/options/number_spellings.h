// Numbers and times as people write them elsewhere, in the spelling that is read here; each answer
// is empty where there is none.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

// "8..64", "1-8", "1:8".
bool is_range(std::string_view text);
// "4-16" -> "4,8,16", "1..3" -> "1,2,3": what a list of such values looks like.
std::string values_in_range(std::string_view text);
// "1e6", "1,024", "8x8", "4k" as a whole number.
std::string plain_number(std::string_view text);
// "2,50", "1,000".
std::string with_point(std::string_view text);
// "$2.50/h", "2.5 USD", where the option is a price in dollars.
std::string plain_price(std::string_view option, std::string_view text);
// "20000h", "4GB", "5%": the number alone, where its unit is the option's.
std::string without_unit(std::string_view option, std::string_view text);
// "10sec" as "10s".
std::string with_own_unit(std::string_view text);

}  // namespace penstock
