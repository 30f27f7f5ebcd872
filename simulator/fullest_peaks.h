// Which peaks of a rank can be the largest: memory is a sum of counts times bytes that are not
// negative, so a peak between two others, or below such a place, never is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "simulator/liveness.h"

namespace penstock {

// Indices into `peaks`, ascending. Whatever the bytes, one of these holds most; none of them is
// between two others, unless there are many chunks: then it is all of them. `peaks`: none is
// exceeded in every component by another.
std::vector<std::size_t> fullest_peaks(const std::vector<LiveCounts>& peaks);
// The same of counts that lie one after the other, so many of each peak.
std::vector<std::size_t> fullest_points(std::vector<std::int32_t> counts, std::size_t of_each);

}  // namespace penstock
