// Numbers are rounded with fmt in decimal, so the same value has the same digits under every
// compiler and locale. Wrapping never separates a number from its unit and never breaks a word: a
// word longer than the line stands on a line of its own.
#include "report/words.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace penstock {
namespace {

// Puts commas into the digits before the point.
std::string grouped(std::string text) {
  const std::size_t sign = text.starts_with('-') ? 1 : 0;
  const std::size_t point = std::min(text.find('.'), text.size());
  for (std::size_t at = point; at > sign + 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

bool is_unit(std::string_view word) {
  constexpr std::array<std::string_view, 12> kUnits{"ns", "us", "ms",  "s",   "min", "h",
                                                    "%",  "B",  "KiB", "MiB", "GiB", "TiB"};
  while (!word.empty() && std::string_view(").,;:").find(word.back()) != std::string_view::npos) {
    word.remove_suffix(1);
  }
  return std::find(kUnits.begin(), kUnits.end(), word) != kUnits.end();
}

// The first word of `text`; a number stays with its unit.
std::string_view first_word(std::string_view text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  if (end == 0 || end == text.size() || text[end - 1] < '0' || text[end - 1] > '9') {
    return text.substr(0, end);
  }
  const std::size_t unit_end = std::min(text.find(' ', end + 1), text.size());
  const bool unit = is_unit(text.substr(end + 1, unit_end - end - 1));
  return text.substr(0, unit ? unit_end : end);
}

}  // namespace

std::string with_commas(std::int64_t value) { return grouped(fmt::format("{}", value)); }

std::string fixed(double value, int decimals) { return fmt::format("{:.{}f}", value, decimals); }

std::string significant(double value, int digits) {
  if (value == 0.0 || !std::isfinite(value)) return fmt::format("{}", value);
  // Rounded first, so that 999.96 with four digits counts as 1000.0.
  const std::string rounded = fmt::format("{:.{}e}", value, digits - 1);
  const int exponent = std::stoi(rounded.substr(rounded.find('e') + 1));
  return grouped(fmt::format("{:.{}f}", value, std::max(0, digits - 1 - exponent)));
}

std::string rate(double per_second) {
  return per_second >= 1000.0 ? with_commas(std::llround(per_second)) : significant(per_second, 4);
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100.0 * share); }

std::string gib(Bytes bytes) {
  return fmt::format("{:.1f}", static_cast<double>(bytes.count) / (1024.0 * 1024.0 * 1024.0));
}

std::string count_of(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", with_commas(count), noun, count == 1 ? "" : "s");
}

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

namespace {

// Zeros behind the point up to so many digits.
std::string padded(std::string text, std::size_t least_digits) {
  const std::size_t blank = text.find(' ');
  std::string number = text.substr(0, blank);
  if (text.ends_with(" ns")) return text;
  bool point = number.find('.') != std::string::npos;
  for (std::size_t digits = number.size() - (point ? 1 : 0); digits < least_digits; ++digits) {
    if (!point) number += '.';
    point = true;
    number += '0';
  }
  return number + text.substr(blank);
}

}  // namespace

std::string aligned(Duration duration) { return padded(to_text(duration), 4); }

std::string rounded(Duration duration) {
  // Cut to three digits first, and said in the unit that those have.
  std::int64_t step = 1, ns = duration.count();
  while (ns / step >= 1000 || ns / step <= -1000) step *= 10;
  ns = (ns + (ns < 0 ? -step : step) / 2) / step * step;
  return padded(to_text(Duration(ns)), 3);
}

std::string rounded_range(Duration low, Duration high) {
  const std::string from = rounded(low), to = rounded(high);
  const std::size_t unit = from.find(' ');
  const bool same = from.substr(unit) == to.substr(to.find(' '));
  return (same ? from.substr(0, unit) : from) + " to " + to;
}

std::string exact(Duration duration) {
  return fmt::format("{} ({} ns)", to_text(duration), with_commas(duration.count()));
}

std::string ranges(const std::vector<int>& numbers) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    const int last = numbers[end - 1];
    parts.push_back(end - i == 1 ? fmt::format("{}", last)
                                 : fmt::format("{} to {}", numbers[i], last));
    i = end;
  }
  return joined(parts, ", ");
}

std::string wrapped(std::string_view text, std::size_t width, std::string_view first,
                    std::string_view rest) {
  std::string out;
  std::string line(first);
  bool empty = true;  // the line holds nothing but its indent
  while (!text.empty()) {
    const std::string_view word = first_word(text);
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (!empty && line.size() + 1 + word.size() > width) {
      out += line + '\n';
      line = rest;
      empty = true;
    }
    if (!empty) line += ' ';
    line += word;
    empty = false;
  }
  return out + line + '\n';
}

std::string wrapped(const std::vector<std::string>& texts, std::size_t width,
                    std::string_view first, std::string_view rest) {
  std::string all;
  for (const std::string& text : texts) all += wrapped(text, width, first, rest);
  return all;
}

}  // namespace penstock
