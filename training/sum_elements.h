// Element-wise sums in a fixed order: the arithmetic of the loopback transport's collectives.
#pragma once

#include <cstddef>
#include <vector>

#include "training/buffer.h"

namespace penstock {

// to[..][i] = ((from[0][i] + from[1][i]) + from[2][i]) + ..., for every i: the same bits whatever
// the timing of the members. Halves are added up in float and rounded once, at the end; int64 wraps
// around. A destination may be one of the sources. Error{kInternal} for bytes, which have no sum.
void sum_elements(ElementType type, std::size_t elements, const std::vector<const std::byte*>& from,
                  const std::vector<std::byte*>& to);

}  // namespace penstock
