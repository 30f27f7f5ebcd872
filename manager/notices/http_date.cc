#include "manager/notices/http_date.h"

#include <array>
#include <string>

namespace penstock {
namespace {

constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::array<std::string_view, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::string_view kShape = "Mon, 19 Sep 2016 18:29:47 GMT";

std::string two_digits(std::size_t number) {
  return std::string(number < 10 ? "0" : "") + std::to_string(number);
}

}  // namespace

// Put into the other form, which checks digits and ranges.
std::optional<UtcTime> parse_http_date(std::string_view text) {
  if (text.size() != kShape.size() || text.substr(3, 2) != ", " || text[7] != ' ' ||
      text[11] != ' ' || text[16] != ' ' || text.substr(25) != " GMT") {
    return std::nullopt;
  }
  std::size_t month = 0;
  while (month < kMonths.size() && kMonths[month] != text.substr(8, 3)) ++month;
  const auto time =
      parse_utc_time(std::string(text.substr(12, 4)) + "-" + two_digits(month + 1) + "-" +
                     std::string(text.substr(5, 2)) + "T" + std::string(text.substr(17, 8)) + "Z");
  if (!time) return std::nullopt;
  const auto days = std::chrono::floor<std::chrono::days>(time->time_since_epoch());
  const std::chrono::weekday weekday{std::chrono::sys_days{days}};
  return kDays[weekday.c_encoding()] == text.substr(0, 3) ? time : std::nullopt;
}

}  // namespace penstock
