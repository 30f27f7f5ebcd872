#include "report/page/timeline_rows.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

#include "core/values/error.h"

namespace penstock {
namespace {

// The slices of one rank in the order of its boxes.
std::vector<std::uint32_t> ordered(const std::vector<TraceSlice>& slices) {
  std::vector<std::uint32_t> order(slices.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const auto key = [&](std::uint32_t i) {
      return std::tuple(slices[i].lane, slices[i].track, slices[i].start, i);
    };
    return key(a) < key(b);
  });
  return order;
}

void refuse_many(std::size_t rows) {
  if (rows < kMostTimelineRows) return;
  throw_bad_input(
      fmt::format("a page has room for {} rows, and this step has more\n"
                  "help: show a run of fewer ranks",
                  kMostTimelineRows));
}

void add_rank(const StepTrace& trace, std::size_t rank, TimelineRows& result) {
  const std::vector<TraceSlice>& slices = trace.ranks[rank].slices;
  std::vector<std::uint32_t>& box_of = result.box_of.emplace_back(slices.size());
  const std::size_t rows_before = result.rows.size();
  for (const std::uint32_t i : ordered(slices)) {
    const auto box = static_cast<std::uint32_t>(result.boxes.size());
    const TraceSlice& slice = slices[i];
    if (result.rows.size() == rows_before || result.rows.back().lane != slice.lane ||
        result.rows.back().track != slice.track) {
      refuse_many(result.rows.size());
      result.rows.push_back({rank, slice.lane, slice.track, box, 0});
    }
    ++result.rows.back().count;
    box_of[i] = box;
    result.boxes.push_back(
        {static_cast<std::uint32_t>(rank), i, static_cast<std::uint16_t>(result.rows.size() - 1)});
  }
}

}  // namespace

TimelineRows rows_of(const StepTrace& trace) {
  TimelineRows result;
  for (std::size_t rank = 0; rank < trace.ranks.size(); ++rank) add_rank(trace, rank, result);
  return result;
}

}  // namespace penstock
