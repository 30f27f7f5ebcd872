#pragma once

namespace penstock::testing {

// Whether the address sanitizer watches the tests: it makes them ten times as slow. A test of many
// random cases takes the first part of them then; an optimized build (presets full and release)
// takes all.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kWatched = true;
#else
inline constexpr bool kWatched = false;
#endif

}  // namespace penstock::testing
