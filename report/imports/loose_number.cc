#include "report/imports/loose_number.h"

#include <charconv>
#include <cmath>
#include <string>
#include <system_error>

namespace penstock {
namespace {

// What stands in the number or string, without blanks around it; nothing where that is no number.
std::optional<std::string> text_of(const JsonReader& value) {
  const Json::Kind kind = value.value().kind();
  if (kind == Json::Kind::kNull) return {};
  if (kind != Json::Kind::kNumber && kind != Json::Kind::kString) value.expected("a number");
  const std::string& text = value.value().text();
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string::npos) return {};
  std::string word = text.substr(first, text.find_last_not_of(' ') + 1 - first);
  if (word == "nan" || word == "-nan" || word == "NaN" || word == "N/A") return {};
  return word;
}

template <class Number>
std::optional<Number> parsed(const std::string& text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  if (result.ec != std::errc() || result.ptr != end) return {};
  return number;
}

}  // namespace

std::optional<double> loose_number(const JsonReader& value) {
  const std::optional<std::string> text = text_of(value);
  if (!text) return {};
  const std::optional<double> number = parsed<double>(*text);
  if (!number || !std::isfinite(*number)) value.expected("a finite number");
  return number;
}

std::optional<std::int64_t> loose_integer(const JsonReader& value) {
  const std::optional<std::string> text = text_of(value);
  return text ? parsed<std::int64_t>(*text) : std::nullopt;
}

std::optional<Duration> loose_time(const JsonReader& value, TimeUnit unit) {
  const std::optional<std::string> text = text_of(value);
  if (!text) return {};
  const std::optional<Duration> time = parse_decimal_duration(*text, unit);
  if (!time) value.expected("a time of at most 10^6 s");
  return *time > Duration{} ? time : std::nullopt;
}

}  // namespace penstock
