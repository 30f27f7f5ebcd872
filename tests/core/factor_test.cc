#include "core/values/factor.h"

#include <doctest/doctest.h>

#include "core/values/error.h"

namespace penstock {
namespace {

TEST_CASE("a factor is exactly what was typed") {
  CHECK(parse_factor("1.3") == Factor{1'300'000});
  CHECK(parse_factor("2") == Factor{2'000'000});
  CHECK(parse_factor("1.05e1") == Factor{10'500'000});
  CHECK(parse_factor("0.0000001") == Factor{1});  // finer than a millionth rounds up
  CHECK(parse_factor("1000") == kLargestFactor);
  for (const char* text : {"", "fast", "-1", "1.3x", "1000.1", "1,3", "1e99"}) {
    CHECK_FALSE(parse_factor(text).has_value());
  }
}

TEST_CASE("a factor is written as it is typed") {
  CHECK(to_text(Factor{1'300'000}) == "1.3");
  CHECK(to_text(Factor{2'000'000}) == "2");
  CHECK(to_text(Factor{1}) == "0.000001");
  CHECK(to_text(Factor{10'050'000}) == "10.05");
}

// 1.3 * 7 = 9.1; 1.3 * 10 = 13; 1.3 * 1,000,003 = 1,300,003.9.
TEST_CASE("a scaled duration rounds up") {
  const Factor factor{1'300'000};
  CHECK(scaled(Duration{7}, factor) == Duration{10});
  CHECK(scaled(Duration{10}, factor) == Duration{13});
  CHECK(scaled(Duration{1'000'003}, factor) == Duration{1'300'004});
  CHECK(scaled(Duration{}, factor) == Duration{});
  CHECK(scaled(kLongestDuration, kLargestFactor) == kLongestDuration * 1000);
  CHECK_THROWS_AS((void)scaled(kLongestDuration * 100, kLargestFactor), Error);
}

}  // namespace
}  // namespace penstock
