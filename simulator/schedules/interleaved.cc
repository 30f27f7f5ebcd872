#include "simulator/schedules/interleaved_lists.h"
#include "simulator/schedules/kinds.h"

namespace penstock {
namespace {

std::string why_not_shape(const ScheduleShape& shape) {
  if (shape.group > 0) return why_no_megatron_group("interleaved", shape, shape.group);
  return why_no_pytorch_group("interleaved", shape, ", or give --group for Megatron's rule");
}

// Megatron-LM arXiv 2104.04473 section 2.2; PyTorch ScheduleInterleaved1F1B. Warm-up of rank r:
// (V - 1) G + 2 (P - 1 - r) forwards of the table.
template <class AddRank>
Schedule with_lists(const ScheduleShape& shape, AddRank add_rank) {
  Interleaving rule;
  rule.group = shape.group > 0 ? shape.group : pytorch_group(shape);
  ListBuilder lists("interleaved", shape);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    const long warm =
        static_cast<long>(shape.chunks - 1) * rule.group + 2L * (shape.ranks - 1 - rank);
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

const ScheduleKind kInterleaved = {
    .name = "interleaved",
    .summary = "1F1B over V chunks per rank in groups; bubble / V, more transfers and activations",
    .fewest_chunks = 2,
    .most_chunks = 0,
    .has_groups = true,
    .why_not = why_not_shape,
    .generate = generate_schedule,
    .held_alike = held_alike,
};

}  // namespace penstock
