#include "simulator/schedules/interleaved_lists.h"
#include "simulator/schedules/kinds.h"

namespace penstock {
namespace {

std::string why_not_shape(const ScheduleShape& shape) {
  return why_no_pytorch_group("interleaved-zb", shape, "");
}

// PyTorch ScheduleInterleavedZeroBubble ("ZB1P"): interleaved with the warm-up of 1F1B per group
// and the weight gradients of rank r delayed by r.
template <class AddRank>
Schedule with_lists(const ScheduleShape& shape, AddRank add_rank) {
  Interleaving rule;
  rule.group = pytorch_group(shape);
  ListBuilder lists("interleaved-zb", shape);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    rule.weight_delay = rank;
    const long warm = static_cast<long>(shape.chunks - 1) * rule.group + (shape.ranks - 1 - rank);
    add_rank(lists, shape, rule, rank, warm);
  }
  return lists.finish();
}

Schedule generate_schedule(const ScheduleShape& shape) {
  return with_lists(shape, add_interleaved_rank);
}
std::optional<Schedule> held_alike(const ScheduleShape& shape) {
  return with_lists(shape, add_interleaved_runs);
}

}  // namespace

const ScheduleKind kInterleavedZeroBubble = {
    .name = "interleaved-zb",
    .summary = "zb-h1 over V chunks per rank: its bubble / V, 1F1B's memory, more transfers",
    .backward = BackwardKind::kSplit,
    .fewest_chunks = 2,
    .most_chunks = 0,
    .why_not = why_not_shape,
    .generate = generate_schedule,
    .held_alike = held_alike,
};

}  // namespace penstock
