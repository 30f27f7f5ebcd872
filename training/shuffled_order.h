// A permutation of 0..n-1 that is a function of n and a key: it needs no memory, and its i-th entry
// is there at once, so that a run of any length goes on anywhere.
//
// A Feistel network over the next even number of bits that hold n, whose images outside 0..n-1 are
// walked back in (Black and Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002, section
// 4). The range is less than four times n, so an entry takes fewer than four rounds of the network
// on average.
#pragma once

#include <cstdint>

namespace penstock {

class ShuffledOrder {
 public:
  // 1 <= n <= 2^62.
  ShuffledOrder(std::uint64_t n, std::uint64_t key);

  // For i < n.
  [[nodiscard]] std::uint64_t operator()(std::uint64_t i) const;

 private:
  [[nodiscard]] std::uint64_t encrypted(std::uint64_t i) const;

  std::uint64_t n_, key_;
  unsigned half_bits_ = 1;
};

}  // namespace penstock
