#include "manager/utc_time.h"

#include <array>
#include <cstdio>

namespace penstock {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// The digits of `text` from `at` on, `count` of them.
std::optional<int> digits(std::string_view text, std::size_t at, std::size_t count) {
  if (text.size() < at + count) return std::nullopt;
  int value = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    value = 10 * value + (text[i] - '0');
  }
  return value;
}

// "" or ".25": nanoseconds; finer digits are cut off.
std::optional<std::int64_t> fraction(std::string_view text) {
  if (text.empty()) return 0;
  if (text[0] != '.' || text.size() < 2) return std::nullopt;
  std::int64_t value = 0, unit = kSecond;
  for (const char digit : text.substr(1)) {
    if (digit < '0' || digit > '9') return std::nullopt;
    unit /= 10;
    value += unit * (digit - '0');
  }
  return value;
}

bool has_shape(std::string_view text) {
  constexpr std::string_view kShape = "0000-00-00T00:00:00";
  if (text.size() <= kShape.size() || text.back() != 'Z') return false;
  for (std::size_t i = 0; i < kShape.size(); ++i) {
    if (kShape[i] != '0' && text[i] != kShape[i]) return false;
  }
  return true;
}

}  // namespace

std::string to_text(UtcTime time) {
  const auto days = std::chrono::floor<std::chrono::days>(time.time_since_epoch());
  const std::chrono::year_month_day date{std::chrono::sys_days{days}};
  const std::int64_t ms = (time.time_since_epoch() - days).count() / 1'000'000;
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", int{date.year()},
                unsigned{date.month()}, unsigned{date.day()}, static_cast<int>(ms / 3'600'000),
                static_cast<int>(ms / 60'000 % 60), static_cast<int>(ms / 1000 % 60),
                static_cast<int>(ms % 1000));
  return text.data();
}

std::optional<UtcTime> parse_utc_time(std::string_view text) {
  if (!has_shape(text)) return std::nullopt;
  const auto year = digits(text, 0, 4), month = digits(text, 5, 2), day = digits(text, 8, 2);
  const auto hour = digits(text, 11, 2), minute = digits(text, 14, 2), second = digits(text, 17, 2);
  const auto part = fraction(text.substr(19, text.size() - 20));
  if (!year || !month || !day || !hour || !minute || !second || !part) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{*year},
                                         std::chrono::month{static_cast<unsigned>(*month)},
                                         std::chrono::day{static_cast<unsigned>(*day)}};
  if (!date.ok() || *year < 1970 || *year > 2199) return std::nullopt;
  if (*hour > 23 || *minute > 59 || *second > 59) return std::nullopt;
  const auto days = std::chrono::sys_days{date}.time_since_epoch();
  const std::int64_t seconds = *hour * 3600 + *minute * 60 + *second;
  return UtcTime{Duration{days} + Duration{seconds * kSecond + *part}};
}

}  // namespace penstock
