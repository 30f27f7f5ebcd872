#include "simulator/schedules/kinds.h"
#include "simulator/schedules/list_builder.h"

namespace penstock {
namespace {

// All forwards, then all backwards, both ascending (arXiv 1811.06965; PyTorch ScheduleGPipe).
Schedule generate_schedule(const ScheduleShape& shape) {
  const int m = shape.micro_batches;
  ListBuilder lists("gpipe", shape);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    lists.repeat(m, 1, [&] { lists.add(ActionKind::kForward, rank, 0); });
    lists.repeat(m, 1, [&] { lists.add(ActionKind::kFusedBackward, rank, 0); });
    lists.end_of_rank();
  }
  return lists.finish();
}

}  // namespace

const ScheduleKind kGpipe = {
    .name = "gpipe",
    .summary = "all forwards, then all backwards; holds all M micro-batches",
    .holds_all_micro_batches = true,
    .generate = generate_schedule,
};

}  // namespace penstock
