// What counts of one rank are made of. Doubles, because products of sizes may leave 64 bits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/values/units.h"
#include "estimator/count_operations.h"

namespace penstock {

inline double real(std::int64_t count) { return static_cast<double>(count); }
// No file holds more than 2^53 bytes; such a section fits nowhere anyway.
inline Bytes whole(double bytes) {
  return {static_cast<std::int64_t>(std::ceil(std::min(bytes, 0x1p53)))};
}
// Of one rank.
inline double tokens(const CountKey& key) {
  return real(key.samples) * key.sequence_length / key.context_degree;
}
// Over how many ranks tensors between the products of a layer are divided.
inline double divided(const CountKey& key) {
  return key.sequence_parallel ? key.tensor_degree : 1.0;
}

}  // namespace penstock
