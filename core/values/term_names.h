// Names of terms of a measurement's times that are looked for; all others are only shown.
#pragma once

#include <string_view>

namespace penstock {

// Reading and writing the gradients that a micro-batch adds its own to, by kernels of their own.
inline constexpr const char* kGradientSums = "gradient sums";

// Takes no time itself: sharded weights that a backward needs are gathered when the one of the
// section behind has ended, not beside it, so that every such gather shows (price_units.h).
inline constexpr const char* kGathersWaitedFor = "gathers that a backward waits for";

// Nor this: ranks that divide sequences pass gradients of keys and values on in twice the bits of
// those, part by part (tensor_traffic.cc).
inline constexpr const char* kGradientsPassedOn = "gradients of keys and values passed on";

// Says what a trainer does, and takes no time itself.
inline bool is_habit(std::string_view term) {
  return term == kGathersWaitedFor || term == kGradientsPassedOn;
}

}  // namespace penstock
