#include "simulator/schedules/kinds.h"
#include "simulator/schedules/list_builder.h"

namespace penstock {
namespace {

// Breadth first: every chunk takes all micro-batches before the next chunk starts; backwards run
// chunk by chunk from the last, micro-batches descending (arXiv 2211.05953; PyTorch
// ScheduleLoopedBFS).
Schedule generate(const ScheduleShape& shape) {
  const int m = shape.micro_batches;
  ListBuilder lists("looped-bfs", shape,
                    2 * static_cast<std::size_t>(m) * static_cast<std::size_t>(shape.chunks));
  for (int rank = 0; rank < shape.ranks; ++rank) {
    for (int chunk = 0; chunk < shape.chunks; ++chunk) {
      const int stage = chunk * shape.ranks + rank;
      for (int i = 0; i < m; ++i) lists.add(ActionKind::kForward, stage, i);
    }
    for (int chunk = shape.chunks - 1; chunk >= 0; --chunk) {
      const int stage = chunk * shape.ranks + rank;
      for (int i = m - 1; i >= 0; --i) lists.add(ActionKind::kFusedBackward, stage, i);
    }
    lists.end_of_rank();
  }
  return lists.finish();
}

}  // namespace

const ScheduleKind kLoopedBfs = {
    "looped-bfs", "breadth first over V chunks per rank; holds all M micro-batches",
    false,        true,
    true,         needs_two_chunks,
    generate};

}  // namespace penstock
