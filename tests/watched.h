#pragma once

namespace penstock::testing {

// Whether the address sanitizer watches the tests: it makes them ten times as slow. A test of many
// random cases takes the first part of them then; an optimized build (presets full and release)
// takes all.
#if defined(__has_feature)  // clang
#if __has_feature(address_sanitizer)
#define PENSTOCK_TESTS_WATCHED true
#endif
#elif defined(__SANITIZE_ADDRESS__)  // GCC
#define PENSTOCK_TESTS_WATCHED true
#endif
#if !defined(PENSTOCK_TESTS_WATCHED)
#define PENSTOCK_TESTS_WATCHED false
#endif
inline constexpr bool kWatched = PENSTOCK_TESTS_WATCHED;
#undef PENSTOCK_TESTS_WATCHED

}  // namespace penstock::testing
