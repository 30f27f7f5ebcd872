// Measured curves as cluster files demand them: times do not fall with the size. Where they did,
// the larger one holds from there on.
#pragma once

#include <string>
#include <vector>

#include "core/values/cluster.h"

namespace penstock {

// Raises what fell. Returns in words what was raised, the first point first; empty when nothing
// was.
std::string raise_falling_times(std::vector<CurvePoint>& curve);

}  // namespace penstock
