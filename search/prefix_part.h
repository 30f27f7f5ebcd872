// A run of entries of a prefix sum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock {

// The sum of entries [first, end); `prefix` has one element more than there are entries.
inline std::int64_t part(const std::vector<std::int64_t>& prefix, int first, int end) {
  return prefix[static_cast<std::size_t>(end)] - prefix[static_cast<std::size_t>(first)];
}

}  // namespace penstock
