#include "costmodel/interpolate.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "core/values/error.h"

namespace penstock {
namespace {

TEST_CASE("a power law through two points is a straight line in logarithms") {
  // y = 3 x^2 through (1, 3) and (8, 192); at 4: 48.
  CHECK(power_law(1, 3, 8, 192, 4) == doctest::Approx(48).epsilon(1e-14));
  // Constant.
  CHECK(power_law(10, 7, 1000, 7, 100) == doctest::Approx(7).epsilon(1e-14));
}

TEST_CASE("measured points come back untouched") {
  CHECK(power_law(3, 0.1, 7, 0.3, 3) == 0.1);
  CHECK(power_law(3, 0.1, 7, 0.3, 7) == 0.3);
  CHECK(linear(3, 0.1, 7, 0.3, 3) == 0.1);
  CHECK(linear(3, 0.1, 7, 0.3, 7) == 0.3);
}

TEST_CASE("a zero has no logarithm and is joined by a straight line") {
  CHECK(power_law(1, 0, 3, 10, 2) == 5);
  CHECK(power_law(0, 4, 2, 8, 1) == 6);
}

TEST_CASE("many power laws at once are the same to the bit") {
  const std::vector<double> low{3, 0, 1e6, 7, 0.1, 12345.678, 5},
      high{192, 10, 3e6, 7, 0, 99999.9, 1};
  std::vector<double> between(low.size());
  for (const double x : {1.0, 1.5, 2.0, 7.99, 8.0}) {
    power_laws(1, low, 8, high, x, between);
    for (std::size_t k = 0; k < low.size(); ++k) {
      CHECK(between[k] == power_law(1, low[k], 8, high[k], x));
    }
  }
  power_laws(0, low, 8, high, 2, between);  // no logarithm of 0
  CHECK(between[0] == power_law(0, 3, 8, 192, 2));
}

TEST_CASE("logarithm and exponential agree with the C library's to the last digits") {
  for (const double x : {1e-9, 0.5, 0.7072, 1.0, 1.4141, 1.5, 2.0, 10.0, 123456.789, 1e15}) {
    CHECK(natural_log(x) == doctest::Approx(std::log(x)).epsilon(1e-15));
  }
  for (const double x : {-20.0, -1.0, -0.3, 0.0, 0.3466, 1.0, 2.5, 34.0}) {
    CHECK(natural_exponential(x) == doctest::Approx(std::exp(x)).epsilon(1e-14));
  }
}

TEST_CASE("whole numbers stay, fractions round up, a last bit too much does not") {
  CHECK(whole_nanoseconds(1000.0).count() == 1000);
  CHECK(whole_nanoseconds(1000.25).count() == 1001);
  CHECK(whole_nanoseconds(1000.0000000000001).count() == 1000);
  CHECK(whole_bytes(1000.0).count == 1000);
  CHECK(whole_bytes(1000.25).count == 1001);
  CHECK(whole_bytes(1000.0000000000001).count == 1000);
}

// 1 B at 2e-308 B/s takes some 10^317 ns, an infinity; a cast of it would be any number at all.
TEST_CASE("refused: times and sizes beyond what is counted") {
  const double endless = std::numeric_limits<double>::infinity();
  CHECK(whole_nanoseconds(1e15) == kLongestDuration);
  CHECK_THROWS_AS((void)whole_nanoseconds(1e15 + 1), Error);
  CHECK_THROWS_AS((void)whole_nanoseconds(endless), Error);
  CHECK(whole_bytes(9007199254740992.0).count == std::int64_t{1} << 53);
  CHECK_THROWS_AS((void)whole_bytes(1e19), Error);
  CHECK_THROWS_AS((void)whole_bytes(endless), Error);
}

}  // namespace
}  // namespace penstock
