#include <algorithm>

#include "simulator/schedules/kinds.h"
#include "simulator/schedules/two_stage_list.h"

namespace penstock {
namespace {

// `n` micro-batches: rank r takes stage r on the way down the V and stage 2P - 1 - r on its way up.
void add_rank(TwoStageList& list, int ranks, int rank, int n) {
  StageInList &down = list.near, &up = list.far;
  const auto whole_backward = [&](StageInList& lane) {
    list.input_gradient(lane);
    list.weight_gradient(lane);
  };
  const auto turn_up = [&] {
    list.forward(up);
    whole_backward(up);
  };
  list.repeat(2 * (ranks - rank) - 1, [&] { list.forward(down); });
  list.repeat(rank, [&] {
    list.forward(up);
    list.forward(down);
  });
  list.repeat(ranks - rank, turn_up);
  list.repeat(n - 2 * ranks + rank + 1, [&] {
    list.forward(down);
    whole_backward(down);
    turn_up();
  });
  list.repeat(ranks - rank - 1, [&] {
    whole_backward(down);
    turn_up();
  });
  list.repeat(rank, [&] {
    list.input_gradient(down);
    list.input_gradient(up);
  });
  list.repeat(ranks - rank, [&] { whole_backward(down); });
  list.repeat(rank, [&] { list.weight_gradient(up); });
  list.repeat(rank, [&] { list.weight_gradient(down); });
}

// Handcrafted zero bubble on a V of two stages per rank (arXiv 2401.10241 section 5; PyTorch
// ScheduleZBVZeroBubble). With fewer than 2P - 1 micro-batches it is the list of 2P - 1 of which
// only those that exist are kept.
Schedule generate_schedule(const ScheduleShape& shape) {
  const int p = shape.ranks, m = shape.micro_batches;
  const int n = std::max(2 * p - 1, m);
  ListBuilder lists("zb-v", shape, StageMap::kV);
  for (int rank = 0; rank < p; ++rank) {
    TwoStageList list(lists, {rank}, {2 * p - 1 - rank}, m);
    add_rank(list, p, rank, n);
    lists.end_of_rank();
  }
  return lists.finish();
}

}  // namespace

const ScheduleKind kZbV = {
    .name = "zb-v",
    .summary =
        "two stages per rank on a V: no bubble by span where F, I and W take equally long, 1F1B's "
        "memory",
    .backward = BackwardKind::kSplit,
    .map = StageMap::kV,
    .fewest_chunks = 2,
    .most_chunks = 2,
    .enough_micro_batches = [](int ranks) { return 2 * ranks; },
    .generate = generate_schedule,
};

}  // namespace penstock
