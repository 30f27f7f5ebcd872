// Random bits as a pure function of what they are for (seed, step, sample, position), so that every
// layout of the ranks draws the same ones in any order. Steele, Lea and Flood's SplitMix64
// finalizer.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace penstock {

constexpr std::uint64_t mixed_bits(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

constexpr std::uint64_t mixed_bits(std::initializer_list<std::uint64_t> words) {
  std::uint64_t bits = 0;
  for (const std::uint64_t word : words) bits = mixed_bits(bits ^ word);
  return bits;
}

// In [0, 1), a multiple of 2^-53.
constexpr double unit_interval(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

}  // namespace penstock
