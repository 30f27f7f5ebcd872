#include "training/half.h"

#include <cmath>
#include <cstring>

namespace penstock {
namespace {

std::uint32_t bits_of(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

float float_with(std::uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// `value` without its last `dropped` bits, rounded to nearest, ties to even.
std::uint32_t rounded_shift(std::uint32_t value, unsigned dropped) {
  const std::uint32_t half = 1U << (dropped - 1);
  const std::uint32_t rest = value & ((1U << dropped) - 1);
  const std::uint32_t kept = value >> dropped;
  const bool up = rest > half || (rest == half && (kept & 1U) != 0);
  return kept + (up ? 1 : 0);
}

constexpr std::uint32_t kFloatInfinity = 0x7F80'0000U;

}  // namespace

float float_of_float16(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t{bits & 0x8000U} << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1FU;
  const std::uint32_t fraction = bits & 0x3FFU;
  if (exponent == 0x1F) return float_with(sign | kFloatInfinity | fraction << 13);
  if (exponent > 0) return float_with(sign | (exponent + 127 - 15) << 23 | fraction << 13);
  // Zero, or a multiple of 2^-24.
  const float value = std::ldexp(static_cast<float>(fraction), -24);
  return sign != 0 ? -value : value;
}

std::uint16_t float16_of(float value) {
  const std::uint32_t bits = bits_of(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7FFF'FFFFU;
  const auto with_sign = [sign](std::uint32_t half) {
    return static_cast<std::uint16_t>(sign | half);
  };
  if (magnitude > kFloatInfinity) return with_sign(0x7E00U);  // not a number
  // 65520 lies half way between the largest, 65504, and what would come next.
  if (magnitude >= 0x477F'F000U) return with_sign(0x7C00U);
  if (magnitude >= 0x3880'0000U) {  // 2^-14: the smallest normal one
    return with_sign(rounded_shift(magnitude - ((127U - 15U) << 23), 13));
  }
  const std::uint32_t exponent = magnitude >> 23;
  if (exponent < 127 - 25) return sign;  // less than half of 2^-24
  // In units of 2^-24: the 24 bits of the float, shifted by 126 - exponent.
  const std::uint32_t significand = (magnitude & 0x7F'FFFFU) | 0x80'0000U;
  return with_sign(rounded_shift(significand, 126U - exponent));
}

float float_of_bfloat16(std::uint16_t bits) { return float_with(std::uint32_t{bits} << 16); }

std::uint16_t bfloat16_of(float value) {
  const std::uint32_t bits = bits_of(value);
  // Rounding could make an infinity of what is not a number.
  if ((bits & 0x7FFF'FFFFU) > kFloatInfinity) return static_cast<std::uint16_t>(bits >> 16 | 0x40U);
  return static_cast<std::uint16_t>(rounded_shift(bits, 16));
}

}  // namespace penstock
