// Names of terms of a measurement's times that are looked for; all others are only shown.
#pragma once

namespace penstock {

// Reading and writing the gradients that a micro-batch adds its own to.
inline constexpr const char* kGradientSums = "gradient sums";

}  // namespace penstock
