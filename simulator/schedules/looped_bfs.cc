#include "simulator/schedules/kinds.h"
#include "simulator/schedules/list_builder.h"

namespace penstock {
namespace {

// Breadth first: every chunk takes all micro-batches before the next chunk starts; backwards run
// chunk by chunk from the last, micro-batches descending (arXiv 2211.05953; PyTorch
// ScheduleLoopedBFS).
Schedule generate_schedule(const ScheduleShape& shape) {
  const int m = shape.micro_batches;
  ListBuilder lists("looped-bfs", shape);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    for (int chunk = 0; chunk < shape.chunks; ++chunk) {
      lists.repeat(m, 1, [&] { lists.add(ActionKind::kForward, chunk * shape.ranks + rank, 0); });
    }
    for (int chunk = shape.chunks - 1; chunk >= 0; --chunk) {
      lists.repeat(
          m, -1, [&] { lists.add(ActionKind::kFusedBackward, chunk * shape.ranks + rank, m - 1); });
    }
    lists.end_of_rank();
  }
  return lists.finish();
}

}  // namespace

const ScheduleKind kLoopedBfs = {
    .name = "looped-bfs",
    .summary = "breadth first over V chunks per rank; holds all M micro-batches",
    .fewest_chunks = 2,
    .most_chunks = 0,
    .holds_all_micro_batches = true,
    .generate = generate_schedule,
};

}  // namespace penstock
