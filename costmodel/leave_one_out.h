// How well a profile's grid foretells its own points: each one is left out and read off its
// neighbours, axis by axis. The gap is then twice what it is in use, so errors in use are smaller.
#pragma once

#include <cstdint>
#include <string>

#include "core/values/profile.h"

namespace penstock {

// Relative errors, of points that have measured neighbours on both sides.
struct LeftOutErrors {
  std::int64_t points = 0;
  double mean_time = 0.0, worst_time = 0.0;    // of F and B, each by itself
  double mean_stash = 0.0, worst_stash = 0.0;  // of the bytes that are kept
  bool operator==(const LeftOutErrors&) const = default;
};

struct GridErrors {
  LeftOutErrors samples, length, decoder_length;
};

// Over all section types that are used, tensor degrees and recompute modes on this device type;
// sections whose times are assumed are left out.
GridErrors leave_one_out(const ModelProfile& profile, const std::string& device);

}  // namespace penstock
