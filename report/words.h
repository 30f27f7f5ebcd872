// Numbers as people read them: grouped digits, percent, GiB, money. ASCII only, the same text on
// every machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/values/units.h"

namespace penstock {

std::string with_commas(std::int64_t value);                      // "505,412,000"
std::string fixed(double value, int decimals);                    // "37.20"
std::string significant(double value, int digits);                // "0.01234", "1,235", "12.3"
std::string rate(double per_second);                              // "99,961", "12.20"
std::string percent(double share);                                // 0.0512 -> "5.1 %"
std::string gib(Bytes bytes);                                     // "37.2"
std::string count_of(std::int64_t count, std::string_view noun);  // "1 rank", "214 candidates"
std::string joined(const std::vector<std::string>& parts, std::string_view separator);

// "42.80 s", always four digits, so that columns line up.
std::string aligned(Duration duration);

// "12.8 s", "427 ms": three digits, beside an uncertainty of percents.
std::string rounded(Duration duration);

// "11.8 to 19.0 s": each as rounded() has it, the unit once where both have the same.
std::string rounded_range(Duration low, Duration high);

// "2.871 s (2,871,002,116 ns)": for people, and exact, where the times it comes from were given.
std::string exact(Duration duration);

// "0, 2 to 4, 7" from {0, 2, 3, 4, 7}, ascending.
std::string ranges(const std::vector<int>& numbers);

// Breaks text at blanks into lines of at most `width` columns; the first line is indented by
// `first`, all others by `rest`. A number stays with its unit. Every line ends in a newline.
std::string wrapped(std::string_view text, std::size_t width, std::string_view first,
                    std::string_view rest);
// Of several texts one below the other.
std::string wrapped(const std::vector<std::string>& texts, std::size_t width,
                    std::string_view first, std::string_view rest);

}  // namespace penstock
