// How long what people type may be to be looked up among the names of options.
#pragma once

#include <cstddef>

namespace penstock {

// No option's name is nearly as long. What is longer is compared with none: each way to read it
// would be as long again.
inline constexpr std::size_t kLongestName = 80;

}  // namespace penstock
