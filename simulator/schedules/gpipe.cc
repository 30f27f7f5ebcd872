#include "simulator/schedules/kinds.h"
#include "simulator/schedules/list_builder.h"

namespace penstock {
namespace {

// All forwards, then all backwards, both ascending (arXiv 1811.06965; PyTorch ScheduleGPipe).
Schedule generate(const ScheduleShape& shape) {
  const int m = shape.micro_batches;
  ListBuilder lists("gpipe", shape, 2 * static_cast<std::size_t>(m));
  for (int rank = 0; rank < shape.ranks; ++rank) {
    for (int i = 0; i < m; ++i) lists.add(ActionKind::kForward, rank, i);
    for (int i = 0; i < m; ++i) lists.add(ActionKind::kFusedBackward, rank, i);
    lists.end_of_rank();
  }
  return lists.finish();
}

}  // namespace

const ScheduleKind kGpipe = {"gpipe", "all forwards, then all backwards; holds all M micro-batches",
                             false,   false,
                             true,    needs_one_chunk,
                             generate};

}  // namespace penstock
