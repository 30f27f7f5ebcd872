// Points in time that a manager compares: nanoseconds since 1970 in UTC. Nobody can ask this clock
// for the time; the program gives it in, so that a test may live a month in a second.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/values/units.h"

namespace penstock {

struct UtcClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<UtcClock, duration>;
  static constexpr bool is_steady = false;
};
using UtcTime = UtcClock::time_point;

// "2026-11-22T01:02:03.004Z": milliseconds, cut off.
std::string to_text(UtcTime time);
// RFC 3339 in UTC ("2026-11-22T01:02:03Z", with a fraction or without), years 1970 to 2199.
// Nothing for other text.
std::optional<UtcTime> parse_utc_time(std::string_view text);

}  // namespace penstock
