// How long ranks will take from their start to the beginning of their first step, from what the
// starts of this job have taken: how busy the machines are changes, what so many ranks take does
// not.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/values/units.h"

namespace penstock {

struct MeasuredStart {
  static constexpr std::size_t kRemembered = 16;
  int ranks = 0;
  Duration time{};  // without the first step
  bool operator==(const MeasuredStart&) const = default;
};

// `starts`: the newest last. `processors`: of the one machine on which all ranks run; 0: they run
// on several, or nobody knows. Nothing where none was measured.
std::optional<Duration> expected_start(const std::vector<MeasuredStart>& starts, int ranks,
                                       int processors);

}  // namespace penstock
