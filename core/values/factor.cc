#include "core/values/factor.h"

#include "core/values/error.h"

namespace penstock {

std::optional<Factor> parse_factor(std::string_view text) {
  // A number in units is to its millionths what one of milliseconds is to its nanoseconds.
  const auto parsed = parse_decimal_duration(text, TimeUnit::kMilliseconds);
  if (!parsed || parsed->count() > kLargestFactor.millionths) return std::nullopt;
  return Factor{parsed->count()};
}

std::string to_text(Factor factor) {
  std::string digits = std::to_string(factor.millionths % 1'000'000);
  digits.insert(0, 6 - digits.size(), '0');
  digits.erase(digits.find_last_not_of('0') + 1);
  return std::to_string(factor.millionths / 1'000'000) + (digits.empty() ? "" : "." + digits);
}

Duration scaled(Duration duration, Factor factor) {
  constexpr std::int64_t kMillion = 1'000'000;
  const std::int64_t rest = duration.count() % kMillion * factor.millionths;  // below 10^15
  std::int64_t result = 0;
  if (__builtin_mul_overflow(duration.count() / kMillion, factor.millionths, &result) ||
      __builtin_add_overflow(result, (rest + kMillion - 1) / kMillion, &result)) {
    throw_bad_input(std::to_string(duration.count()) + " ns times " +
                    std::to_string(factor.millionths) +
                    " millionths exceeds what 64 bits hold; are the units right?");
  }
  return Duration{result};
}

}  // namespace penstock
