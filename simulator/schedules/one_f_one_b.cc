#include <algorithm>

#include "simulator/schedules/kinds.h"
#include "simulator/schedules/list_builder.h"

namespace penstock {
namespace {

// Rank r warms up with min(P - 1 - r, M) forwards, then alternates one forward and one backward,
// then drains (PipeDream-flush, DAPPLE; arXiv 2006.09503).
Schedule generate_schedule(const ScheduleShape& shape) {
  const int m = shape.micro_batches;
  ListBuilder lists("1f1b", shape);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    const int warm = std::min(shape.ranks - 1 - rank, m);
    lists.repeat(warm, 1, [&] { lists.add(ActionKind::kForward, rank, 0); });
    lists.repeat(m - warm, 1, [&] {
      lists.add(ActionKind::kForward, rank, warm);
      lists.add(ActionKind::kFusedBackward, rank, 0);
    });
    lists.repeat(warm, 1, [&] { lists.add(ActionKind::kFusedBackward, rank, m - warm); });
    lists.end_of_rank();
  }
  return lists.finish();
}

}  // namespace

const ScheduleKind kOneForwardOneBackward = {
    .name = "1f1b",
    .summary = "one forward, one backward; rank r holds P - r micro-batches",
    .generate = generate_schedule,
};

}  // namespace penstock
