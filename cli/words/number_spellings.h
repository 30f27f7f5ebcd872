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
// "8:64" in steps of "8": "8,16,24,..,64", as far as a list may be; empty where the step is none.
std::string values_in_steps(std::string_view range, std::string_view step);
// "1,024" and "12 500 000" without what stands between groups of three digits; empty where the
// groups are none ("0,125", "1024,5").
std::string without_thousands(std::string_view text, char between);
// "1e6", "1,024", "8x8", "4k" as a whole number.
std::string plain_number(std::string_view text, double kilo = 1024.0);
// "128k" tokens of a sample, as lengths of contexts are called, where that is at most so many; 0 of
// others and of other options.
int length_in_kilo(std::string_view option, std::string_view text, int most);
// "128kk", "128ki", "512s": the number before letters that are a slip, "128k" and "512"; empty
// where no number stands there.
std::string before_slip(std::string_view text);
// "2,50" and "0,125" with a point, "1,000" without its comma.
std::string with_point(std::string_view text);
// "$2.50/h", "2.5 USD", where the option is a price in dollars.
std::string plain_price(std::string_view option, std::string_view text);
// "20000h", "4GB", "5%": the number alone, where its unit is the option's.
std::string without_unit(std::string_view option, std::string_view text);
// "4m ", "4k-", "4,194,304": what stands before "tokens", as --global-batch-tokens takes it; "N"
// where that is no number.
std::string number_of_tokens(std::string text);
// "10sec" as "10s".
std::string with_own_unit(std::string_view text);

}  // namespace penstock
