#include <fmt/format.h>

#include "simulator/schedules/interleaved_lists.h"
#include "simulator/schedules/kinds.h"

namespace penstock {
namespace {

int group_of(const ScheduleShape& shape) { return shape.group > 0 ? shape.group : shape.ranks; }

std::string why_not_shape(const ScheduleShape& shape) {
  if (shape.group == 0 && (shape.ranks < 2 || shape.micro_batches < shape.ranks)) {
    return fmt::format("interleaved-overlap: P = {}, M = {}, but Megatron's rule wants 2 <= P <= M",
                       shape.ranks, shape.micro_batches);
  }
  return why_no_megatron_group("interleaved-overlap", shape, group_of(shape));
}

// Interleaved with one more forward in the warm-up: then no backward of the steady part needs the
// forward before it, and the two run together. Megatron-LM does so to hide the all-to-alls of
// experts (overlap_moe_expert_parallel_comm).
Schedule generate_schedule(const ScheduleShape& shape) {
  Interleaving rule;
  rule.group = group_of(shape);
  rule.overlaps_pairs = true;
  ListBuilder lists("interleaved-overlap", shape);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    const long warm =
        static_cast<long>(shape.chunks - 1) * rule.group + 2L * (shape.ranks - 1 - rank) + 1;
    add_interleaved_rank(lists, shape, rule, rank, warm);
  }
  return lists.finish();
}

}  // namespace

const ScheduleKind kInterleavedOverlap = {
    .name = "interleaved-overlap",
    .summary =
        "interleaved with one more forward first, so that forward and backward of the steady part "
        "overlap (Megatron's MoE overlap)",
    .fewest_chunks = 2,
    .most_chunks = 0,
    .has_groups = true,
    .ragged_groups = true,
    .only_when_named = true,  // what it gains is not measured
    .why_not = why_not_shape,
    .generate = generate_schedule,
};

}  // namespace penstock
