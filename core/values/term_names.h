// Names of terms of a measurement's times that are looked for; all others are only shown.
#pragma once

namespace penstock {

// Reading and writing the gradients that a micro-batch adds its own to.
inline constexpr const char* kGradientSums = "gradient sums";

// Takes no time itself: sharded weights that a backward needs are gathered when the one of the
// section behind has ended, not beside it, so that every such gather shows (price_units.h).
inline constexpr const char* kGathersWaitedFor = "gathers that a backward waits for";

}  // namespace penstock
