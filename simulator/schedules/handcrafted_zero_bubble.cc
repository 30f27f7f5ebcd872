#include <algorithm>
#include <string_view>

#include "simulator/schedules/kinds.h"
#include "simulator/schedules/list_builder.h"

namespace penstock {
namespace {

// Handcrafted zero bubble, H1 (k = 1) and H2 (k = 2): 1F1B with k times its warm-up and the weight
// gradients of rank r delayed by k r micro-batches (arXiv 2401.10241).
Schedule generate_schedule(std::string_view name, int k, const ScheduleShape& shape) {
  const int m = shape.micro_batches;
  ListBuilder lists(name, shape);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    const int warm = std::min(k * (shape.ranks - 1 - rank), m);
    const int delay = std::min(k * rank, m);
    lists.repeat(warm, 1, [&] { lists.add(ActionKind::kForward, rank, 0); });
    // Step i: the next F if any is left, I, and from step `delay` on the oldest W.
    const auto steps = [&](int from, int to) {
      lists.repeat(to - from, 1, [&] {
        if (from < m - warm) lists.add(ActionKind::kForward, rank, warm + from);
        lists.add(ActionKind::kInputGradient, rank, from);
        if (from >= delay) lists.add(ActionKind::kWeightGradient, rank, from - delay);
      });
    };
    const auto [first, second] = std::minmax({m - warm, delay});
    steps(0, first);
    steps(first, second);
    steps(second, m);
    lists.repeat(delay, 1, [&] { lists.add(ActionKind::kWeightGradient, rank, m - delay); });
    lists.end_of_rank();
  }
  return lists.finish();
}

}  // namespace

const ScheduleKind kZbH1 = {
    .name = "zb-h1",
    .summary = "1F1B with delayed weight gradients: about a third of the bubble, 1F1B's memory",
    .backward = BackwardKind::kSplit,
    .generate = [](const ScheduleShape& shape) { return generate_schedule("zb-h1", 1, shape); },
};

const ScheduleKind kZbH2 = {
    .name = "zb-h2",
    .summary =
        "zb-h1 with twice the warm-up: no bubble by span where I and F take as long as W, "
        "twice the memory",
    .backward = BackwardKind::kSplit,
    .generate = [](const ScheduleShape& shape) { return generate_schedule("zb-h2", 2, shape); },
};

}  // namespace penstock
