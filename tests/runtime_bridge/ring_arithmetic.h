// What a RingModel is reckoned with, by plain_step() and by RingWork alike.
#pragma once

#include <cstddef>
#include <cstdint>

#include "training/rank_work.h"

namespace penstock::testing {

// Signed numbers that wrap around, without undefined behaviour.
inline std::int64_t times(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
inline void add(std::int64_t& sum, std::int64_t term) {
  sum =
      static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(term));
}

inline std::int64_t sample(std::int64_t step, int i) { return 3 + 17 * step + i; }
inline double small_part(std::int64_t value) { return static_cast<double>(value & 0xFFFF); }
inline double squared(std::int64_t gradient) {
  const double part = static_cast<double>(gradient & 0x3FF);
  return part * part;
}
inline std::int64_t rate_of(const NormShare& all) {
  return 1 + static_cast<std::int64_t>(all.squared_norm) % 5;
}
inline void update(std::int64_t& weight, std::int64_t gradient, std::int64_t rate) {
  add(weight, times(-rate, gradient));
}

inline std::size_t weights_of_section(int section) {
  return 1 + static_cast<std::size_t>(section) % 3;
}

}  // namespace penstock::testing
