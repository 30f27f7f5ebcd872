#include "cli/words/number_spellings.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <system_error>

#include <fmt/format.h>

namespace penstock {

// "8..64", "1-8", "1:8".
bool is_range(std::string_view text) {
  const std::size_t first = text.find_first_not_of("0123456789");
  if (first == 0 || first == std::string_view::npos) return false;
  const std::size_t second = text.find_first_not_of(".-:", first);
  return second != std::string_view::npos && second > first &&
         text.substr(first, second - first) != "." &&
         text.find_first_not_of("0123456789", second) == std::string_view::npos;
}

// "4-16" -> "4,8,16", "1..3" -> "1,2,3": what a list of such values looks like.
std::string values_in_range(std::string_view text) {
  const auto number = [](std::string_view digits) {
    std::int64_t value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    constexpr std::int64_t kLargest = 1'000'000'000'000;  // which can be doubled
    return std::min(value, kLargest);
  };
  const std::size_t dots = text.find_first_not_of("0123456789");
  const std::int64_t one = number(text.substr(0, dots));
  const std::int64_t other = number(text.substr(text.find_first_of("0123456789", dots)));
  const std::int64_t first = std::max<std::int64_t>(std::min(one, other), 1);
  const std::int64_t last = std::max(one, other);
  constexpr int kMost = 12;
  std::string list;
  int count = 0;
  for (std::int64_t value = first; value <= last && value > 0 && count < kMost; ++count) {
    list += (list.empty() ? "" : ",") + std::to_string(value);
    value = last % (value * 2) == 0 || last / first >= 4 ? value * 2 : value + 1;
  }
  return list;
}

std::string values_in_steps(std::string_view range, std::string_view step) {
  constexpr std::size_t kMostDigits = 6;
  constexpr int kMost = 16;
  const auto number = [](std::string_view digits) {
    int value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
  };
  const bool is_step = !step.empty() && step.size() <= kMostDigits &&
                       step.find_first_not_of("0123456789") == std::string_view::npos;
  const std::size_t first = range.find_first_not_of("0123456789");
  const std::size_t second = range.find_first_of("0123456789", first);
  if (!is_step || number(step) == 0 || range.size() > 2 * kMostDigits) return "";
  std::string list;
  int value = number(range.substr(0, first));
  for (int i = 0; i < kMost && value <= number(range.substr(second)); ++i) {
    list += (list.empty() ? "" : ",") + std::to_string(value);
    value += number(step);
  }
  return list;
}

std::string without_thousands(std::string_view text, char between) {
  constexpr std::size_t kGroup = 3;
  std::string digits;
  std::size_t in_group = 0;
  bool is_first = true;
  for (const char c : text) {
    if (c == between) {
      if (is_first ? in_group == 0 || digits.front() == '0' : in_group != kGroup) return "";
      in_group = 0;
      is_first = false;
    } else if (c < '0' || c > '9' || ++in_group > kGroup) {
      return "";
    } else {
      digits.push_back(c);
    }
  }
  return is_first || in_group != kGroup ? "" : digits;
}

// A number as people write it elsewhere: "1e6", "1,024", "8x8", "4k". What to write instead, or
// nothing. "5m" are minutes to most, and no millions.
std::string plain_number(std::string_view text, double kilo) {
  if (text.find(',') != std::string_view::npos) return without_thousands(text, ',');
  std::string digits;
  double factor = 1.0, product = 1.0;
  const auto end_factor = [&] {
    double value = 0.0;
    const char* end = digits.data() + digits.size();
    const auto result = std::from_chars(digits.data(), end, value);
    product = result.ec == std::errc() && result.ptr == end ? product * value * factor : -1.0;
    digits.clear();
    factor = 1.0;
  };
  const bool is_product = text.find_first_of("x*") != std::string_view::npos;  // "2 x 8"
  for (const char c : text) {
    if (c == '_' || (c == ' ' && is_product)) continue;
    if (c == 'x' || c == '*') {
      end_factor();
    } else if ((c == 'k' || c == 'K') && factor == 1.0) {
      factor = kilo;
    } else if (c == 'M' && factor == 1.0) {
      factor = kilo * kilo;
    } else {
      digits.push_back(c);
    }
  }
  end_factor();
  const bool whole = product >= 0.0 && product < 1e15 && product == std::floor(product);
  return whole ? fmt::format("{}", static_cast<std::int64_t>(product)) : "";
}

int length_in_kilo(std::string_view option, std::string_view text, int most) {
  const bool is_length = option == "--sequence-length" || option == "--layout seq" ||
                         option.ends_with(" sequence-length");
  if (!is_length || !(text.ends_with('k') || text.ends_with('K'))) return 0;
  const std::string number = plain_number(text, 1024.0);
  std::int64_t length = 0;
  const auto read = std::from_chars(number.data(), number.data() + number.size(), length);
  return read.ec == std::errc() && length <= most ? static_cast<int>(length) : 0;
}

std::string before_slip(std::string_view text) {
  constexpr std::string_view kSuffixes = "kKmMbBgGtT";
  constexpr std::size_t kMostDigits = 12, kMostLetters = 6;
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const bool is_number = end > 0 && end <= kMostDigits && text[0] != '.' && text[end - 1] != '.';
  const bool are_letters = end < text.size() && text.size() - end <= kMostLetters &&
                           std::all_of(text.begin() + static_cast<std::ptrdiff_t>(end), text.end(),
                                       [](unsigned char c) { return std::isalpha(c) != 0; });
  if (!is_number || !are_letters) return "";
  const bool has_suffix = kSuffixes.find(text[end]) != std::string_view::npos;
  return std::string(text.substr(0, end + (has_suffix ? 1 : 0)));
}

// "2,50", "$2.50/h", "2.5 USD": a price as people write it, where the option is one.
std::string plain_price(std::string_view option, std::string_view text) {
  if (option.find("usd") == std::string_view::npos) return "";
  for (const std::string_view other : {"\u20ac", "\u00a3", "eur", "EUR", "gbp", "GBP"}) {
    if (text.find(other) != std::string_view::npos) return "";
  }
  const std::size_t begin = std::min(text.find_first_of("0123456789"), text.size());
  const std::size_t end = std::min(text.find_first_not_of("0123456789.", begin), text.size());
  const bool is_alone = text.find_first_of("0123456789", end) == std::string_view::npos;
  return begin < end && is_alone ? std::string(text.substr(begin, end - begin)) : "";
}

// "2,50" and "1,000" with the sign that is read here, or none.
std::string with_point(std::string_view text) {
  const std::size_t comma = text.find(',');
  if (comma == 0 || comma == std::string_view::npos || comma + 1 == text.size()) return "";
  if (text.find_first_not_of("0123456789,") != std::string_view::npos) return "";
  if (std::string whole = without_thousands(text, ','); !whole.empty()) return whole;
  if (text.find(',', comma + 1) != std::string_view::npos) return "";
  std::string out(text);
  out[comma] = '.';
  return out;
}

// "20000h", "4GB", "5%": the number alone, where its unit is the option's; or nothing.
std::string without_unit(std::string_view option, std::string_view text) {
  constexpr std::array<std::array<std::string_view, 2>, 16> kUnits{{{"hours", "h"},
                                                                    {"hours", "hr"},
                                                                    {"hours", "hours"},
                                                                    {"hours", "hour"},
                                                                    {"gib", "GB"},
                                                                    {"gib", "GiB"},
                                                                    {"gib", "G"},
                                                                    {"gib", "gb"},
                                                                    {"gb-per-s", "GB/s"},
                                                                    {"storage", "GB/s"},
                                                                    {"percent", "%"},
                                                                    {"length", "tokens"},
                                                                    {"batch", "samples"},
                                                                    {"batch", "sequences"},
                                                                    {"minutes", "min"},
                                                                    {"minutes", "m"}}};
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view unit =
      text.substr(std::min(text.find_first_not_of(' ', end), text.size()));
  constexpr std::size_t kMostDigits = 9;
  const bool are_days = unit == "days" || unit == "day" || unit == "d";
  if (end > 0 && end <= kMostDigits && are_days && option.find("hours") != std::string_view::npos) {
    double days = 0.0;
    std::from_chars(text.data(), text.data() + end, days);
    constexpr double kHoursPerDay = 24.0;
    return fmt::format("{}", days * kHoursPerDay);
  }
  const bool are_minutes = unit == "min" || unit == "minutes" || unit == "m";
  if (end > 0 && end <= kMostDigits && are_minutes &&
      option.find("hours") != std::string_view::npos) {
    double minutes = 0.0;
    std::from_chars(text.data(), text.data() + end, minutes);
    constexpr double kMinutesPerHour = 60.0;
    return fmt::format("{:.4g}", minutes / kMinutesPerHour);
  }
  const bool are_years = unit == "years" || unit == "year" || unit == "y" || unit == "yr";
  if (end > 0 && end <= kMostDigits && are_years &&
      option.find("hours") != std::string_view::npos) {
    double years = 0.0;
    std::from_chars(text.data(), text.data() + end, years);
    constexpr double kHoursPerYear = 365.0 * 24.0;
    return fmt::format("{}", years * kHoursPerYear);
  }
  const bool is_own =
      std::any_of(kUnits.begin(), kUnits.end(), [&](const std::array<std::string_view, 2>& row) {
        return unit == row[1] && option.find(row[0]) != std::string_view::npos;
      });
  return end > 0 && is_own ? std::string(text.substr(0, end)) : "";
}

std::string number_of_tokens(std::string text) {
  text.erase(text.find_last_not_of(" -") + 1);
  std::string suffix;
  if (!text.empty() && text.find_last_of("kmbgKMBG") == text.size() - 1) {
    suffix = static_cast<char>(std::toupper(static_cast<unsigned char>(text.back())));
    text.pop_back();
    text.erase(text.find_last_not_of(" -") + 1);
  }
  if (text.find(',') != std::string::npos) text = without_thousands(text, ',');
  constexpr std::size_t kMostDigits = 15;
  const bool is_number =
      text.size() <= kMostDigits && text.find_first_not_of("0123456789.") == std::string::npos &&
      text.find('.') == text.rfind('.') && text.find_first_of("123456789") != std::string::npos;
  return is_number ? text + suffix : "N";
}

// "10sec" as "10s": units of time that have another spelling here; or nothing.
std::string with_own_unit(std::string_view text) {
  struct Unit {
    std::string_view typed, unit;
  };
  constexpr std::array<Unit, 12> kUnits{{{"sec", "s"},
                                         {"secs", "s"},
                                         {"second", "s"},
                                         {"seconds", "s"},
                                         {"msec", "ms"},
                                         {"msecs", "ms"},
                                         {"milliseconds", "ms"},
                                         {"usec", "us"},
                                         {"\u00b5s", "us"},
                                         {"microseconds", "us"},
                                         {"nsec", "ns"},
                                         {"S", "s"}}};
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::size_t begin = std::min(text.find_first_not_of(' ', end), text.size());
  for (const Unit& unit : kUnits) {
    if (end > 0 && text.substr(begin) == unit.typed) {
      return std::string(text.substr(0, end)).append(unit.unit);
    }
  }
  return "";
}

}  // namespace penstock
