// DualPipe and DualPipeV after deepseek-ai/DualPipe (dualpipe.py, dualpipev.py): micro-batches are
// fed from both ends, every rank holds one stage of each direction, and in the steady state a
// forward of one direction overlaps a backward of the other. DualPipeRank writes the eight steps of
// the source in their order; DualPipeV is the same lists on half of the ranks, each rank holding
// both ends of a V. Invariant: a W is always the oldest that is pending, as in the source's queue.
#include <algorithm>
#include <queue>
#include <utility>

#include <fmt/format.h>

#include "simulator/schedules/kinds.h"
#include "simulator/schedules/two_stage_list.h"

namespace penstock {
namespace {

// The eight steps of DualPipe (deepseek-ai/DualPipe) on rank `rank` of `ranks`, with `m`
// micro-batches per direction. Its near stage is the rank-th from an end of the pipeline, the far
// one as far from the other end. A W is always the oldest that is pending.
class DualPipeRank {
 public:
  DualPipeRank(ListBuilder& lists, int ranks, int rank, int m, StageInList near, StageInList far)
      : list_(lists, near, far), ranks_(ranks), rank_(rank), m_(m) {}

  void add() {
    const int above = ranks_ - rank_ - 1;
    StageInList &near = list_.near, &far = list_.far;
    list_.repeat(2 * above, [&] { list_.forward(near); });
    list_.repeat(rank_ + 1, [&] {
      list_.forward(near);
      list_.forward(far);
    });
    list_.repeat(above, [&] {
      input_gradient(far);
      weight_gradient();
      list_.forward(far);
    });
    add_steady(m_ - 2 * ranks_ + rank_ + 1);
    list_.repeat(above, [&] {
      list_.backward(far);
      list_.overlap(far, near);
    });
    add_split_backwards(rank_ + 1);
    for (int i = 0; i < above; ++i) {
      weight_gradient();
      input_gradient(near);
    }
    for (int i = 0; i <= rank_; ++i) weight_gradient();
  }

 private:
  void add_steady(int pairs) {
    const auto far_ahead = [&] { list_.overlap(list_.far, list_.near); };
    // Where the directions meet, the first forward does not wait for the gradient of its partner:
    // together they would start later.
    const bool meets = rank_ == ranks_ - 1;
    if (meets) {
      list_.forward(list_.near);
      list_.backward(list_.far);
      far_ahead();
    }
    list_.repeat(meets ? pairs - 1 : pairs, [&] {
      list_.overlap(list_.near, list_.far);
      far_ahead();
    });
  }
  // The second half of the backwards leaves its W for later.
  void add_split_backwards(int count) {
    bool splits = false;
    const auto add = [&](StageInList& lane) {
      splits ? input_gradient(lane) : list_.backward(lane);
    };
    for (int i = 0; i < count; ++i) {
      if (i == count / 2 && rank_ % 2 == 1) splits = true;
      add(list_.far);
      if (i == count / 2 && rank_ % 2 == 0) splits = true;
      add(list_.near);
    }
  }
  void input_gradient(StageInList& lane) {
    pending_.emplace(lane.stage, lane.backward);
    list_.input_gradient(lane);
  }
  void weight_gradient() {
    const auto [stage, micro_batch] = pending_.front();
    pending_.pop();
    list_.weight_gradient(stage, micro_batch);
  }

  TwoStageList list_;
  std::queue<std::pair<int, int>> pending_;  // W: stage, micro-batch
  int ranks_, rank_, m_;
};

std::string why_too_few(std::string_view name, const ScheduleShape& shape) {
  if (shape.micro_batches >= 2 * shape.ranks) return "";
  return fmt::format("{}: M = {} is less than 2P = {}; use -M {} or more, or fewer ranks", name,
                     shape.micro_batches, 2 * shape.ranks, 2 * shape.ranks);
}

std::string why_no_dualpipe(const ScheduleShape& shape) {
  const auto odd = [](const char* what, int value) {
    return fmt::format("dualpipe: {} = {} is odd, but each direction takes half; use {} or {}",
                       what, value, value - 1, value + 1);
  };
  if (shape.ranks % 2 == 1) {
    return shape.ranks == 1 ? "dualpipe: P = 1 has no second direction; use an even P"
                            : odd("P", shape.ranks);
  }
  if (auto why = why_too_few("dualpipe", shape); !why.empty()) return why;
  return shape.micro_batches % 2 == 1 ? odd("M", shape.micro_batches) : "";
}

Schedule generate_on_v(const ScheduleShape& shape) {
  const int p = shape.ranks;
  ListBuilder lists("dualpipe-v", shape, StageMap::kV);
  for (int rank = 0; rank < p; ++rank) {
    DualPipeRank(lists, p, rank, shape.micro_batches, {rank}, {2 * p - 1 - rank}).add();
    lists.end_of_rank();
  }
  return lists.finish();
}

// Two copies of the weights, one per direction: rank r holds stage r of copy 0 and stage P - 1 - r
// of copy 1. Seen from either end it is DualPipeV on half of the ranks.
Schedule generate_both_ways(const ScheduleShape& shape) {
  const int p = shape.ranks, half = shape.micro_batches / 2;
  ListBuilder lists("dualpipe", shape, StageMap::kBidirectional);
  for (int rank = 0; rank < p; ++rank) {
    StageInList near{rank}, far{2 * p - 1 - rank, half, half, half};
    if (rank >= p / 2) std::swap(near, far);
    DualPipeRank(lists, p / 2, std::min(rank, p - 1 - rank), half, near, far).add();
    lists.end_of_rank();
  }
  return lists.finish();
}

}  // namespace

const ScheduleKind kDualPipeV = {
    .name = "dualpipe-v",
    .summary =
        "two stages per rank on a V, forward and backward overlap; one chunk more than 1F1B's "
        "memory",
    .backward = BackwardKind::kMixed,
    .map = StageMap::kV,
    .fewest_chunks = 2,
    .most_chunks = 2,
    .enough_micro_batches = [](int ranks) { return 2 * ranks + 1; },  // one rank overlaps the third
    .why_not = [](const ScheduleShape& shape) { return why_too_few("dualpipe-v", shape); },
    .generate = generate_on_v,
};

const ScheduleKind kDualPipe = {
    .name = "dualpipe",
    .summary =
        "micro-batches from both ends, forward and backward overlap; P + 1 activations and two "
        "copies of the weights",
    .backward = BackwardKind::kMixed,
    .map = StageMap::kBidirectional,
    .fewest_chunks = 2,
    .most_chunks = 2,
    .why_not = why_no_dualpipe,
    .generate = generate_both_ways,
};

}  // namespace penstock
