// Typed quantities. Simulated time is an integer count of nanoseconds, memory an integer count of
// bytes, and neither converts to the other. The only place where floating point becomes simulated
// time is round_up_to_ns() below, and it rounds up.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace penstock {

using Duration = std::chrono::nanoseconds;

// A clock that nobody can ask for the time: only a simulation moves it.
struct SimClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<SimClock, duration>;
  static constexpr bool is_steady = true;
};
using SimTime = SimClock::time_point;

struct Bytes {
  std::int64_t count = 0;

  auto operator<=>(const Bytes&) const = default;
  constexpr Bytes& operator+=(Bytes other) { return count += other.count, *this; }
  constexpr Bytes& operator-=(Bytes other) { return count -= other.count, *this; }
};
constexpr Bytes operator+(Bytes a, Bytes b) { return {a.count + b.count}; }
constexpr Bytes operator-(Bytes a, Bytes b) { return {a.count - b.count}; }
constexpr Bytes operator*(Bytes a, std::int64_t times) { return {a.count * times}; }
constexpr Bytes operator*(std::int64_t times, Bytes a) { return a * times; }

struct BytesPerSecond {
  double value = 0.0;
  auto operator<=>(const BytesPerSecond&) const = default;
};

// Smallest whole number of nanoseconds that is not less than `seconds` (>= 0 and finite). The
// product is first snapped to the nearest integer when it lies within one part in 1e12 of it, so
// that 1,000 B over 1e9 B/s is exactly 1,000 ns whatever the last bit of the quotient.
Duration round_up_to_ns(double seconds);

// The same for nanoseconds that came out of a few sums: less than a thousandth of one over a whole
// number counts as nothing.
Duration round_up_nearly(double nanoseconds);

// Bytes over a rate, rounded up: 1 B over 3e9 B/s is 1 ns.
Duration transfer_time(Bytes bytes, BytesPerSecond rate);

// `duration` times a factor >= 0, rounded up.
Duration scaled(Duration duration, double factor);

// "18.522ms" -> 18,522,000 ns. Exact decimal arithmetic, no floating point: what is finer than a
// nanosecond rounds up. Units ns, us, ms, s. Nothing when the text is not such a duration, is
// negative or exceeds kLongestDuration.
std::optional<Duration> parse_duration(std::string_view text);

// The same for a bare decimal number ("18.522", "1.5e3") whose unit is known apart.
enum class TimeUnit { kNanoseconds, kMicroseconds, kMilliseconds, kSeconds };
std::optional<Duration> parse_decimal_duration(std::string_view number, TimeUnit unit);

// The longest single duration that is accepted from outside: 10^6 s. It keeps sums of millions
// of actions inside 64 bits; simulate() checks the sum as well.
inline constexpr Duration kLongestDuration{1'000'000'000'000'000};

// "1.234 s", "18.52 ms", "601 us", "7 ns": at most four significant digits, for people.
std::string to_text(Duration duration);
// "39.2 GiB", "512 B": for people.
std::string to_text(Bytes bytes);

namespace literals {
constexpr Bytes operator""_B(unsigned long long n) { return {static_cast<std::int64_t>(n)}; }
constexpr Bytes operator""_KiB(unsigned long long n) {
  return {static_cast<std::int64_t>(n) << 10};
}
constexpr Bytes operator""_MiB(unsigned long long n) {
  return {static_cast<std::int64_t>(n) << 20};
}
constexpr Bytes operator""_GiB(unsigned long long n) {
  return {static_cast<std::int64_t>(n) << 30};
}
}  // namespace literals

}  // namespace penstock
