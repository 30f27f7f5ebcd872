// Memory limits that an automatic schedule tries. They do not depend on the limit that is given, so
// what is tried under some limit is tried under every larger one: that makes it monotone.
#pragma once

#include <initializer_list>
#include <vector>

namespace penstock {

// In activations, rising to `most`, more than which is never held: every number up to 16, then at
// most a sixteenth apart, and those of `always` that are below.
std::vector<int> limit_ladder(std::initializer_list<int> always, int most);

}  // namespace penstock
