// From which lengths on a search divides the sequences of an estimate without being asked.
#pragma once

namespace penstock {

inline constexpr int kHalvedSequence = 8192;  // tokens: by two
inline constexpr int kLongSequence = 32768;   // and by more

}  // namespace penstock
