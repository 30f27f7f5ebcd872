#include <algorithm>

#include "simulator/schedules/kinds.h"
#include "simulator/schedules/list_builder.h"

namespace penstock {
namespace {

// Zero bubble H1: 1F1B with the weight gradients of rank r delayed by r micro-batches, so that they
// fill the drain at 1F1B's memory (arXiv 2401.10241).
Schedule generate(const ScheduleShape& shape) {
  const int m = shape.micro_batches;
  ListBuilder lists("zb-h1", shape, 3 * static_cast<std::size_t>(m));
  for (int rank = 0; rank < shape.ranks; ++rank) {
    int forwards = 0;
    int weights = 0;
    const auto add_forward = [&] { lists.add(ActionKind::kForward, rank, forwards++); };
    const auto add_weight = [&] { lists.add(ActionKind::kWeightGradient, rank, weights++); };
    const int warm = std::min(shape.ranks - 1 - rank, m);
    while (forwards < warm) add_forward();
    for (int i = 0; i < m; ++i) {
      if (forwards < m) add_forward();
      lists.add(ActionKind::kInputGradient, rank, i);
      if (i >= rank) add_weight();
    }
    while (weights < m) add_weight();
    lists.end_of_rank();
  }
  return lists.finish();
}

}  // namespace

const ScheduleKind kZbH1 = {"zb-h1",
                            "1F1B with delayed weight gradients: about a third of the bubble, "
                            "1F1B's memory",
                            true,
                            false,
                            false,
                            needs_one_chunk,
                            generate};

}  // namespace penstock
