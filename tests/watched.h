#pragma once

namespace penstock::testing {

// Whether a sanitizer watches the tests: it makes them ten times as slow. A test of many random
// cases takes the first part of them then; an optimized build (presets full and release) takes all.
#if defined(__has_feature)  // clang
#if __has_feature(address_sanitizer)
#define PENSTOCK_TESTS_WATCHED true
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // GCC
#define PENSTOCK_TESTS_WATCHED true
#endif
#if !defined(PENSTOCK_TESTS_WATCHED)
#define PENSTOCK_TESTS_WATCHED false
#endif
inline constexpr bool kWatched = PENSTOCK_TESTS_WATCHED;
#undef PENSTOCK_TESTS_WATCHED

// So many random cases: all, or the first eighth where the tests are watched.
constexpr int draws(int all) { return kWatched ? (all + 7) / 8 : all; }
// Of which a test wants to have met so many.
constexpr int least(int of_all) { return kWatched ? of_all / 16 : of_all; }

}  // namespace penstock::testing
