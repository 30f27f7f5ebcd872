#include <fmt/format.h>

#include "simulator/schedules/interleaved_lists.h"
#include "simulator/schedules/kinds.h"

namespace penstock {
namespace {

int group_of(const ScheduleShape& shape) { return shape.group > 0 ? shape.group : shape.ranks; }

std::string why_not_shape(const ScheduleShape& shape) {
  const int least = (shape.ranks + 1) / 2, g = group_of(shape);
  if (g >= least && g <= shape.ranks) return "";
  return fmt::format(
      "grouped-interleaved: group {} is outside ceil(P / 2) <= group <= P, that is {}..{}; larger "
      "groups are what interleaved has",
      g, least, shape.ranks);
}

// Interleaved with half the slope of warm-up and groups down to half of P (GIS in
// sail-sg/zero-bubble-pipeline-parallelism): rank r holds (V - 1) G + P - r chunks.
Schedule generate_schedule(const ScheduleShape& shape) {
  Interleaving rule;
  rule.group = group_of(shape);
  rule.pads_last_group = true;
  ListBuilder lists("grouped-interleaved", shape);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    const long warm = static_cast<long>(shape.chunks - 1) * rule.group + (shape.ranks - 1 - rank);
    add_interleaved_rank(lists, shape, rule, rank, warm);
  }
  return lists.finish();
}

}  // namespace

const ScheduleKind kGroupedInterleaved = {
    .name = "grouped-interleaved",
    .summary =
        "interleaved with a short warm-up in groups of P / 2 to P (default P): fewer activations, "
        "no "
        "slack for transfers",
    .fewest_chunks = 2,
    .most_chunks = 0,
    .has_groups = true,
    .ragged_groups = true,
    .why_not = why_not_shape,
    .generate = generate_schedule,
};

}  // namespace penstock
