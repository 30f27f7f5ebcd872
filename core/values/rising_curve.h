// Measured curves as cluster files demand them: times do not fall with the size.
#pragma once

#include <string>
#include <vector>

#include "core/values/cluster.h"

namespace penstock {

// For curves that somebody else published. Raises what fell: the larger time holds from there on.
// Returns in words what was raised, the first point first; empty when nothing was.
std::string raise_falling_times(std::vector<CurvePoint>& curve);
// For curves of our own, whose points may have been disturbed: other work of the machine makes
// times longer, never shorter, so what a larger message took is enough for every smaller one.
// Likewise.
std::string lower_to_larger(std::vector<CurvePoint>& curve);

}  // namespace penstock
