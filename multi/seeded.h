// Numbers that look random and are the same everywhere. Private to multi/.
#pragma once

#include <cstdint>

namespace penstock {

// Steele, Lea and Flood's SplitMix64.
class Seeded {
 public:
  explicit Seeded(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t x = state_;
    x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31U);
  }
  // From 0 to `end` - 1; `end` is far below 2^64, so that all are as likely for our purposes.
  std::int64_t below(std::int64_t end) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(end));
  }

 private:
  std::uint64_t state_;
};

}  // namespace penstock
