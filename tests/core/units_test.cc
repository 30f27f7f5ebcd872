#include "core/values/units.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "core/values/ids.h"

namespace penstock {
namespace {

using namespace literals;

static_assert(!std::is_convertible_v<Bytes, Duration>);
static_assert(!std::is_convertible_v<Duration, Bytes>);
static_assert(!std::is_convertible_v<Bytes, std::int64_t>);
static_assert(!std::is_convertible_v<BytesPerSecond, Bytes>);
static_assert(!std::is_convertible_v<StageId, RankId>);
static_assert(!std::is_convertible_v<StageId, int>);

constexpr auto kNano = TimeUnit::kNanoseconds;
constexpr auto kSecond = TimeUnit::kSeconds;

std::int64_t ns(std::optional<Duration> duration) { return duration.value().count(); }

TEST_CASE("a fraction of a nanosecond rounds up") {
  // 1 B / 3e9 B/s = 0.33 ns; 4 B / 3e9 B/s = 1.33 ns
  CHECK(transfer_time(1_B, {3e9}).count() == 1);
  CHECK(transfer_time(4_B, {3e9}).count() == 2);
  CHECK(transfer_time(0_B, {3e9}).count() == 0);
  CHECK(round_up_to_ns(1e-10).count() == 1);
  CHECK(round_up_to_ns(0.0).count() == 0);
}

TEST_CASE("a whole number of nanoseconds does not grow by the last bit of a quotient") {
  CHECK(transfer_time(1000_B, {1e9}).count() == 1000);
  // n B / 1e9 B/s is exactly n ns; many of these quotients times 1e9 lie a bit above n.
  for (std::int64_t n = 1; n < 100'000; ++n) {
    REQUIRE(transfer_time({n}, {1e9}).count() == n);
  }
  // 16 MiB over 12.5 GB/s: 16777216 x 0.08 = 1342177.28 ns
  CHECK(transfer_time(16_MiB, {12.5e9}).count() == 1'342'178);
}

TEST_CASE("a duration times a factor rounds up and times one stays itself") {
  CHECK(scaled(Duration(10), 0.25).count() == 3);
  CHECK(scaled(Duration(10), 0.5).count() == 5);
  CHECK(scaled(Duration(100), 1.1).count() == 110);  // 110.00000000000001 in binary
  CHECK(scaled(Duration(7), 0.0).count() == 0);
  CHECK(scaled(kLongestDuration, 1.0) == kLongestDuration);
  CHECK(scaled(Duration(999'999'999'999'999), 1.0).count() == 999'999'999'999'999);
}

TEST_CASE("a time that is negative or not a number is our bug, one that is too long is refused") {
  CHECK_THROWS_AS((void)round_up_to_ns(-1e-9), Error);
  CHECK_THROWS_AS((void)round_up_to_ns(std::nan("")), Error);
  CHECK_THROWS_AS((void)round_up_to_ns(std::numeric_limits<double>::infinity()), Error);
  CHECK(round_up_to_ns(1e6) == kLongestDuration);
  CHECK_THROWS_WITH_AS((void)transfer_time(1_GiB, {1.0}),
                       "a time exceeds 1000000 s, the longest that is simulated; check bandwidths, "
                       "sizes and factors",
                       Error);
}

TEST_CASE("durations are exact decimals with a unit") {
  CHECK(ns(parse_duration("18.522ms")) == 18'522'000);
  CHECK(ns(parse_duration("7ns")) == 7);
  CHECK(ns(parse_duration("1.5us")) == 1'500);
  CHECK(ns(parse_duration("2s")) == 2'000'000'000);
  CHECK(ns(parse_duration("0.1s")) == 100'000'000);
  CHECK(ns(parse_duration("000.25us")) == 250);
  // Digits that no double holds: 123456.789012345 s.
  CHECK(ns(parse_duration("123456.789012345s")) == 123'456'789'012'345);
}

TEST_CASE("what is finer than a nanosecond rounds up, however little it is") {
  CHECK(ns(parse_duration("0.1ns")) == 1);
  CHECK(ns(parse_duration("1.0000000000000000000000000000000001us")) == 1'001);
  CHECK(ns(parse_duration("1.0000000000000000000000000000000000us")) == 1'000);
  CHECK(ns(parse_duration("1e-400s")) == 1);
  CHECK(ns(parse_duration("0e-400s")) == 0);
}

TEST_CASE("exponents are read exactly") {
  CHECK(ns(parse_decimal_duration("1.5e3", kNano)) == 1'500);
  CHECK(ns(parse_decimal_duration("1.5E+3", kNano)) == 1'500);
  CHECK(ns(parse_decimal_duration("15e-1", kNano)) == 2);
  CHECK(ns(parse_decimal_duration("1e-9", kSecond)) == 1);
  CHECK(ns(parse_decimal_duration("0.0000001e7", kSecond)) == 1'000'000'000);
  CHECK(ns(parse_decimal_duration("0e999999999999999999999", kSecond)) == 0);
  CHECK(ns(parse_decimal_duration("1e-999999999999999999999", kSecond)) == 1);
}

TEST_CASE("a million seconds is the longest duration") {
  CHECK(parse_duration("1000000s") == kLongestDuration);
  CHECK(parse_decimal_duration("1e15", kNano) == kLongestDuration);
  CHECK_FALSE(parse_decimal_duration("1000000000000000.1", kNano));
  CHECK_FALSE(parse_duration("1000000.000000001s"));
  CHECK_FALSE(parse_duration("9999999999999999999999999999s"));
  CHECK_FALSE(parse_decimal_duration("1e999999999999999999999", kNano));
}

TEST_CASE("what is not a duration is nothing") {
  for (const char* text : {"",       "ms",    "s",    "1",    "18.522", "-1ms",   "-0ms",   "+1ms",
                           "1.ms",   ".5ms",  "1e",   "1ems", "1e+ms",  "nan ms", "nanms",  "infs",
                           "0x10ns", "1,5ms", "1 ms", " 1ms", "1ms ",   "1h",     "1.2.3ms"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_duration(text));
  }
}

TEST_CASE("durations are shown with at most four digits") {
  CHECK(to_text(Duration(0)) == "0 ns");
  CHECK(to_text(Duration(7)) == "7 ns");
  CHECK(to_text(Duration(999)) == "999 ns");
  CHECK(to_text(Duration(601'000)) == "601 us");
  CHECK(to_text(Duration(1'234)) == "1.234 us");
  CHECK(to_text(Duration(18'522'000)) == "18.52 ms");
  CHECK(to_text(Duration(18'525'000)) == "18.53 ms");  // halves go up
  CHECK(to_text(Duration(33'000'000)) == "33 ms");
  CHECK(to_text(Duration(100'500'000)) == "100.5 ms");
  CHECK(to_text(Duration(1'234'000'000)) == "1.234 s");
  CHECK(to_text(Duration(1'050'000'000)) == "1.05 s");
  CHECK(to_text(Duration(-601'000)) == "-601 us");
}

TEST_CASE("rounding up to the next unit changes the unit") {
  CHECK(to_text(Duration(999'960)) == "1 ms");
  CHECK(to_text(Duration(999'940)) == "999.9 us");
  CHECK(to_text(Duration(999'999'999)) == "1 s");
}

TEST_CASE("whole seconds are never cut") {
  CHECK(to_text(Duration(12'345'678'000'000)) == "12346 s");
  CHECK(to_text(kLongestDuration) == "1000000 s");
  CHECK(to_text(Duration::min()) == "-9223372037 s");
}

TEST_CASE("bytes are shown in binary units with one decimal") {
  CHECK(to_text(512_B) == "512 B");
  CHECK(to_text(1023_B) == "1023 B");
  CHECK(to_text(1_KiB) == "1.0 KiB");
  CHECK(to_text(1536_B) == "1.5 KiB");
  CHECK(to_text(42'090'542'899_B) == "39.2 GiB");  // 39.2 x 2^30 = 42090542694.4
  CHECK(to_text(Bytes{(1 << 20) - 1}) == "1.0 MiB");
  CHECK(to_text(Bytes{-1536}) == "-1.5 KiB");
  CHECK(to_text(Bytes{std::int64_t{1} << 53}) == "8.0 PiB");
}

}  // namespace
}  // namespace penstock
