// Memory limits that an automatic schedule tries. They do not depend on the limit that is given, so
// what is tried under some limit is tried under every larger one: that makes it monotone.
#pragma once

#include <initializer_list>
#include <vector>

namespace penstock {

// In activations, rising to `most`: every number up to `parts`, then at most that part apart (a
// sixteenth for 16), and those of `always` that are below.
std::vector<int> limit_ladder(std::initializer_list<int> always, int most, int parts = 16);

}  // namespace penstock
