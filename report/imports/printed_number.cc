#include "report/imports/printed_number.h"

#include <charconv>
#include <cmath>
#include <string>
#include <system_error>

namespace penstock {
namespace {

constexpr std::int64_t kLargest = std::int64_t{1} << 53;

bool has_grouped_commas(std::string_view text) {
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  if (point != std::string_view::npos && text.find(',', point) != std::string_view::npos) {
    return false;
  }
  const std::size_t first = whole.find(',');
  if (first == 0 || first > 3) return false;
  for (std::size_t i = first; i < whole.size(); ++i) {
    if ((whole[i] == ',') != ((i - first) % 4 == 0)) return false;
  }
  return (whole.size() - first) % 4 == 0;
}

// Nothing when commas stand where no thousand ends.
std::optional<std::string> without_commas(std::string_view text) {
  std::string plain(text);
  if (plain.find(',') == std::string::npos) return plain;
  if (!has_grouped_commas(text)) return {};
  std::erase(plain, ',');
  return plain;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  const std::optional<std::string> plain = without_commas(text);
  if (!plain) return {};
  std::int64_t value = 0;
  const char* end = plain->data() + plain->size();
  const auto result = std::from_chars(plain->data(), end, value);
  if (result.ec != std::errc() || result.ptr != end || value < 0 || value > kLargest) return {};
  return value;
}

std::optional<double> real_number(std::string_view text) {
  const std::optional<std::string> plain = without_commas(text);
  if (!plain) return {};
  double value = 0.0;
  const char* end = plain->data() + plain->size();
  const auto result = std::from_chars(plain->data(), end, value);
  if (result.ec != std::errc() || result.ptr != end || !std::isfinite(value)) return {};
  return value < 0.0 ? std::nullopt : std::optional(value);
}

}  // namespace penstock
