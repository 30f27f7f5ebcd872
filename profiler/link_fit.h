// A line through measured transfers: time = latency + bytes / bandwidth. One line never fits the
// switches of protocols, so it is a summary with its error; prices are made from the table itself.
#pragma once

#include <optional>
#include <vector>

#include "core/values/cluster.h"

namespace penstock {

struct LinkFit {
  Duration latency{};
  BytesPerSecond bandwidth;
  double worst_error = 0.0;  // largest |predicted / measured - 1| over the points
};

// Minimises the relative errors, that is, with weights 1 / time^2: without them the largest
// transfer decides alone and the latency is anything. A latency that would be negative is 0.
// Nothing for fewer than two sizes, or when larger transfers do not take longer.
std::optional<LinkFit> fit_link(const std::vector<CurvePoint>& points);

}  // namespace penstock
