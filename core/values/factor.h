// A factor on durations as it was typed: "1.3" is exactly 1,300,000 millionths, never a binary
// fraction near it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/values/units.h"

namespace penstock {

struct Factor {
  std::int64_t millionths = 1'000'000;
  auto operator<=>(const Factor&) const = default;
};

inline constexpr Factor kLargestFactor{1'000'000'000};  // a thousand

// A decimal number from 0 to a thousand; what is finer than a millionth rounds up. Nothing when the
// text is not one.
std::optional<Factor> parse_factor(std::string_view text);

// "1.3"
std::string to_text(Factor factor);

// Rounded up.
Duration scaled(Duration duration, Factor factor);

}  // namespace penstock
