#include <algorithm>

#include "simulator/schedules/kinds.h"
#include "simulator/schedules/list_builder.h"

namespace penstock {
namespace {

// Rank r warms up with min(P - 1 - r, M) forwards, then alternates one forward and one backward,
// then drains (PipeDream-flush, DAPPLE; arXiv 2006.09503).
Schedule generate(const ScheduleShape& shape) {
  const int m = shape.micro_batches;
  ListBuilder lists("1f1b", shape, 2 * static_cast<std::size_t>(m));
  for (int rank = 0; rank < shape.ranks; ++rank) {
    const int warm = std::min(shape.ranks - 1 - rank, m);
    for (int i = 0; i < warm; ++i) lists.add(ActionKind::kForward, rank, i);
    for (int i = 0; i < m - warm; ++i) {
      lists.add(ActionKind::kForward, rank, warm + i);
      lists.add(ActionKind::kFusedBackward, rank, i);
    }
    for (int i = m - warm; i < m; ++i) lists.add(ActionKind::kFusedBackward, rank, i);
    lists.end_of_rank();
  }
  return lists.finish();
}

}  // namespace

const ScheduleKind kOneForwardOneBackward = {
    "1f1b",  "one forward, one backward; rank r holds P - r micro-batches",
    false,   false,
    false,   needs_one_chunk,
    generate};

}  // namespace penstock
