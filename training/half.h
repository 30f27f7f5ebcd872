// Halves as they lie in memory, to float and back. LibTorch has the same; what is here serves sums
// of a transport that knows no LibTorch.
#pragma once

#include <cstdint>

namespace penstock {

// IEEE binary16 (1 sign, 5 exponent, 10 fraction bits) and bfloat16 (the upper half of a float).
// To float is exact; from float rounds to nearest, ties to even.
float float_of_float16(std::uint16_t bits);
std::uint16_t float16_of(float value);
float float_of_bfloat16(std::uint16_t bits);
std::uint16_t bfloat16_of(float value);

}  // namespace penstock
