#include "training/half.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include <doctest/doctest.h>

namespace penstock {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST_CASE("float16 as its bits say: sign, exponent - 15, 1.fraction") {
  CHECK(float_of_float16(0x3C00) == 1.0F);
  CHECK(float_of_float16(0xC000) == -2.0F);
  CHECK(float_of_float16(0x3555) == 1365.0F / 4096.0F);  // 2^-2 (1 + 341/1024)
  CHECK(float_of_float16(0x7BFF) == 65504.0F);           // 2^15 (1 + 1023/1024)
  CHECK(float_of_float16(0x0400) == std::ldexp(1.0F, -14));
  CHECK(float_of_float16(0x0001) == std::ldexp(1.0F, -24));
  CHECK(float_of_float16(0x8003) == -std::ldexp(3.0F, -24));
  CHECK(float_of_float16(0x7C00) == kInfinity);
  CHECK(float_of_float16(0xFC00) == -kInfinity);
  CHECK(std::isnan(float_of_float16(0x7E00)));
  CHECK(std::signbit(float_of_float16(0x8000)));
}

TEST_CASE("every float16 survives the way to float and back") {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = float_of_float16(half);
    if (std::isnan(value)) {
      CHECK(std::isnan(float_of_float16(float16_of(value))));
    } else {
      REQUIRE(float16_of(value) == half);
    }
  }
}

TEST_CASE("float16 rounds to nearest, ties to even") {
  // Between 2048 and 4096 neighbours are 2 apart: 2049 lies half way, 2048 is even.
  CHECK(float_of_float16(float16_of(2049.0F)) == 2048.0F);
  CHECK(float_of_float16(float16_of(2051.0F)) == 2052.0F);
  CHECK(float_of_float16(float16_of(2049.001F)) == 2050.0F);
  // Carries into the exponent.
  CHECK(float_of_float16(float16_of(4095.0F)) == 4096.0F);
  // 65520 is half way to what would be 65536, which is even: infinity.
  CHECK(float16_of(65519.0F) == 0x7BFF);
  CHECK(float16_of(65520.0F) == 0x7C00);
  CHECK(float16_of(-kInfinity) == 0xFC00);
  // Below the normal ones, in units of 2^-24: 0.5 goes to 0, 1.5 and 2.5 to 2.
  CHECK(float16_of(std::ldexp(1.0F, -25)) == 0x0000);
  CHECK(float16_of(std::ldexp(1.001F, -25)) == 0x0001);
  CHECK(float16_of(std::ldexp(3.0F, -25)) == 0x0002);
  CHECK(float16_of(std::ldexp(5.0F, -25)) == 0x0002);
  CHECK(float16_of(-std::ldexp(1.0F, -40)) == 0x8000);
  // The largest of those rounds up to the smallest normal one.
  CHECK(float16_of(std::ldexp(1023.75F, -24)) == 0x0400);
}

TEST_CASE("bfloat16 is the upper half of a float, rounded to nearest, ties to even") {
  CHECK(float_of_bfloat16(0x3F80) == 1.0F);
  CHECK(float_of_bfloat16(0xC040) == -3.0F);
  // 8 significant bits: neighbours of 256 are 2 apart.
  CHECK(float_of_bfloat16(bfloat16_of(257.0F)) == 256.0F);
  CHECK(float_of_bfloat16(bfloat16_of(259.0F)) == 260.0F);
  CHECK(float_of_bfloat16(bfloat16_of(257.01F)) == 258.0F);
  CHECK(bfloat16_of(std::numeric_limits<float>::max()) == 0x7F80);
  CHECK(std::isnan(float_of_bfloat16(bfloat16_of(std::numeric_limits<float>::quiet_NaN()))));
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = float_of_bfloat16(half);
    if (!std::isnan(value)) REQUIRE(bfloat16_of(value) == half);
  }
}

}  // namespace
}  // namespace penstock
