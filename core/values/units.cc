// Decimals of files are read digit by digit into integers, with their exponent, so that 0.1 us is
// exactly 100 ns; only measured quotients pass through a double, and round_up() is the one place
// where they become nanoseconds. Rounding is upward, because a transfer of one byte takes time.
// Texts have four significant digits, and are rounded before their unit is chosen.
#include "core/values/units.h"

#include <array>
#include <cmath>
#include <cstddef>

#include "core/values/error.h"

namespace penstock {
namespace {

void refuse_impossible(double ns) {
  if (std::isnan(ns) || ns < 0.0) {
    throw Error(ErrorKind::kInternal, "a time became negative or not a number");
  }
  if (ns > static_cast<double>(kLongestDuration.count())) {
    throw_bad_input("a time exceeds " + to_text(kLongestDuration) +
                    ", the longest that is simulated; check bandwidths, sizes and factors");
  }
}

// The one rounding of floating point to simulated time. The snap keeps the last bit of a quotient
// from costing a nanosecond; from 10^12 ns on it is coarser than a nanosecond and the result is
// simply the nearest integer.
Duration round_up(double ns) {
  refuse_impossible(ns);
  const double nearest = std::round(ns);
  const bool snaps = std::abs(ns - nearest) <= 1e-12 * nearest;
  return Duration(static_cast<std::int64_t>(snaps ? nearest : std::ceil(ns)));
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes the digits at the front of `text` away and returns them.
std::string_view take_digits(std::string_view& text) {
  std::size_t n = 0;
  while (n < text.size() && is_digit(text[n])) ++n;
  const std::string_view digits = text.substr(0, n);
  text.remove_prefix(n);
  return digits;
}

// The exponent of "e-12"; no text at all is exponent 0. Beyond +-10^12 it stays there, which is
// farther than any text has digits.
std::optional<std::int64_t> parse_exponent(std::string_view text) {
  if (text.empty()) return 0;
  if (text[0] != 'e' && text[0] != 'E') return {};
  text.remove_prefix(1);
  const bool negative = !text.empty() && text[0] == '-';
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  const std::string_view digits = take_digits(text);
  if (digits.empty() || !text.empty()) return {};
  constexpr std::int64_t kFar = 1'000'000'000'000;
  std::int64_t value = 0;
  for (const char c : digits) {
    if (value < kFar) value = value * 10 + (c - '0');
  }
  return negative ? -value : value;
}

// `digits` times 10^exponent, rounded up to an integer; nothing beyond kLongestDuration.
std::optional<Duration> scale_decimal(std::string_view digits, std::int64_t exponent) {
  const std::size_t first = digits.find_first_not_of('0');
  if (first == std::string_view::npos) return Duration{};
  digits.remove_prefix(first);
  const auto whole_digits = static_cast<std::int64_t>(digits.size()) + exponent;
  if (whole_digits > 16) return {};  // kLongestDuration has 16
  const auto whole = static_cast<std::size_t>(whole_digits > 0 ? whole_digits : 0);
  std::int64_t value = 0;
  for (std::size_t i = 0; i < whole; ++i) {
    value = value * 10 + (i < digits.size() ? digits[i] - '0' : 0);
  }
  const bool rest =
      whole < digits.size() && digits.find_first_not_of('0', whole) != std::string_view::npos;
  if (rest) ++value;
  if (value > kLongestDuration.count()) return {};
  return Duration(value);
}

int exponent_of(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kNanoseconds:
      return 0;
    case TimeUnit::kMicroseconds:
      return 3;
    case TimeUnit::kMilliseconds:
      return 6;
    case TimeUnit::kSeconds:
      return 9;
  }
  return 0;
}

struct Suffix {
  std::string_view text;
  TimeUnit unit;
};
// "s" comes last: every suffix ends in it.
constexpr std::array kSuffixes{
    Suffix{"ns", TimeUnit::kNanoseconds},
    Suffix{"us", TimeUnit::kMicroseconds},
    Suffix{"ms", TimeUnit::kMilliseconds},
    Suffix{"s", TimeUnit::kSeconds},
};

// "12.5" for 12500 thousandths.
std::string thousandths_to_text(std::uint64_t thousandths) {
  std::string text = std::to_string(thousandths / 1000);
  if (const std::uint64_t rest = thousandths % 1000; rest != 0) {
    const std::string digits = std::to_string(1000 + rest);
    text += '.' + digits.substr(1, digits.find_last_not_of('0'));
  }
  return text;
}

}  // namespace

Duration round_up_to_ns(double seconds) { return round_up(seconds * 1e9); }

Duration round_up_nearly(double nanoseconds) {
  refuse_impossible(nanoseconds);
  const auto whole = static_cast<std::int64_t>(nanoseconds);
  return Duration(nanoseconds - static_cast<double>(whole) < 1e-3 ? whole : whole + 1);
}

Duration transfer_time(Bytes bytes, BytesPerSecond rate) {
  return round_up_to_ns(static_cast<double>(bytes.count) / rate.value);
}

Duration scaled(Duration duration, double factor) {
  return round_up(static_cast<double>(duration.count()) * factor);
}

std::optional<Duration> parse_duration(std::string_view text) {
  for (const Suffix& suffix : kSuffixes) {
    if (text.ends_with(suffix.text)) {
      return parse_decimal_duration(text.substr(0, text.size() - suffix.text.size()), suffix.unit);
    }
  }
  return {};
}

std::optional<Duration> parse_decimal_duration(std::string_view number, TimeUnit unit) {
  std::string digits(take_digits(number));
  if (digits.empty()) return {};
  std::int64_t exponent = exponent_of(unit);
  if (!number.empty() && number[0] == '.') {
    number.remove_prefix(1);
    const std::string_view fraction = take_digits(number);
    if (fraction.empty()) return {};
    digits += fraction;
    exponent -= static_cast<std::int64_t>(fraction.size());
  }
  const std::optional<std::int64_t> written = parse_exponent(number);
  if (!written) return {};
  return scale_decimal(digits, exponent + *written);
}

std::string to_text(Duration duration) {
  const bool negative = duration.count() < 0;
  auto ns = static_cast<std::uint64_t>(duration.count());
  if (negative) ns = ~ns + 1;  // also right for the least int64
  // Rounded to four digits first, so that 999.96 us becomes 1 ms and not 1000 us. Whole seconds
  // are never cut.
  std::uint64_t step = 1;
  while (ns / step >= 10'000 && step < 1'000'000'000) step *= 10;
  ns = (ns / step + (ns % step * 2 >= step ? 1 : 0)) * step;
  constexpr std::array<std::string_view, 4> kUnits{" ns", " us", " ms", " s"};
  std::size_t unit = 0;
  std::uint64_t size = 1;
  while (unit + 1 < kUnits.size() && ns >= size * 1000) {
    size *= 1000;
    ++unit;
  }
  const std::uint64_t thousandths = unit == 0 ? ns * 1000 : ns / (size / 1000);
  return (negative ? "-" : "") + thousandths_to_text(thousandths) + std::string(kUnits[unit]);
}

std::string to_text(Bytes bytes) {
  const double size = std::abs(static_cast<double>(bytes.count));
  if (size < 1024.0) return std::to_string(bytes.count) + " B";
  constexpr std::array<std::string_view, 5> kUnits{" KiB", " MiB", " GiB", " TiB", " PiB"};
  std::size_t unit = 0;
  double tenths = std::round(size / 102.4);
  while (tenths >= 10'240.0 && unit + 1 < kUnits.size()) {
    ++unit;
    tenths = std::round(size / 102.4 / std::pow(1024.0, static_cast<double>(unit)));
  }
  const auto whole = static_cast<std::int64_t>(tenths);
  return (bytes.count < 0 ? "-" : "") + std::to_string(whole / 10) + '.' +
         std::to_string(whole % 10) + std::string(kUnits[unit]);
}

}  // namespace penstock
