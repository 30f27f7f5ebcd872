#include <algorithm>

#include "simulator/schedules/kinds.h"
#include "simulator/schedules/list_builder.h"

namespace penstock {
namespace {

// 1F1B over the slices of the sequences (arXiv 2406.03488). Entry m q + k is slice k of
// micro-batch m: forwards take the entries in order, backwards the slices of a micro-batch from the
// last to the first, since a slice attends to those before it.
Schedule generate_schedule(const ScheduleShape& shape) {
  const int q = shape.slices, entries = shape.micro_batches * q;
  ListBuilder lists("seq-1f1b", shape);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    const auto backward = [&](int unit) {
      lists.add(ActionKind::kFusedBackward, rank, unit / q * q + (q - 1 - unit % q));
    };
    const int warm = std::min(shape.ranks - 2 - rank + q, entries);
    const auto pairs = [&](int from, int to) {
      for (int unit = from; unit < to; ++unit) {
        lists.add(ActionKind::kForward, rank, warm + unit);
        backward(unit);
      }
    };
    lists.repeat(warm, 1, [&] { lists.add(ActionKind::kForward, rank, 0); });
    const int periods = (entries - warm) / q;
    lists.repeat(periods, q, [&] { pairs(0, q); });
    pairs(periods * q, entries - warm);
    for (int unit = entries - warm; unit < entries; ++unit) backward(unit);
    lists.end_of_rank();
  }
  return lists.finish();
}

}  // namespace

const ScheduleKind kSeq1F1B = {
    .name = "seq-1f1b",
    .summary =
        "1F1B over --slices of every sequence: bubble and activations shrink with their number",
    .has_slices = true,
    .generate = generate_schedule,
};

}  // namespace penstock
