// The slices of a step as a page draws them: boxes, row by row. A row is one track of a lane of a
// rank; its boxes are consecutive, ascend and do not overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "report/traces/step_trace.h"

namespace penstock {

struct TimelineRow {
  std::size_t rank = 0;  // position in StepTrace::ranks
  TraceLane lane = TraceLane::kCompute;
  int track = 0;
  std::uint32_t first = 0, count = 0;  // boxes
};

struct TimelineRows {
  struct Box {
    std::uint32_t rank = 0, slice = 0;  // positions in StepTrace::ranks and its slices
    std::uint16_t row = 0;
  };
  std::vector<TimelineRow> rows;  // by rank, then lane, then track
  std::vector<Box> boxes;
  std::vector<std::vector<std::uint32_t>> box_of;  // [rank][slice]

  [[nodiscard]] static const TraceSlice& slice(const StepTrace& trace, const Box& box) {
    return trace.ranks[box.rank].slices[box.slice];
  }
};

inline constexpr std::size_t kMostTimelineRows = 0xFFFF;

// Error{kBadInput} for more rows than kMostTimelineRows.
TimelineRows rows_of(const StepTrace& trace);

}  // namespace penstock
