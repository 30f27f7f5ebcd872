// Builds the list of a rank that holds two stages, as ZB-V and DualPipe have it: each stage counts
// its forwards, its backwards (B or I) and its weight gradients on its own.
#pragma once

#include <algorithm>
#include <limits>

#include "simulator/schedules/list_builder.h"

namespace penstock {

// A stage and the micro-batch that comes next in each direction.
struct StageInList {
  int stage = 0;
  int forward = 0, backward = 0, weight = 0;
};

class TwoStageList {
 public:
  // Actions of micro-batches from `end` on are left out.
  TwoStageList(ListBuilder& lists, StageInList one, StageInList other,
               int end = std::numeric_limits<int>::max())
      : near(one), far(other), lists_(lists), end_(end) {}

  StageInList near, far;

  void forward(StageInList& lane) { add(ActionKind::kForward, lane.stage, lane.forward++); }
  void backward(StageInList& lane) { add(ActionKind::kFusedBackward, lane.stage, lane.backward++); }
  void input_gradient(StageInList& lane) {
    add(ActionKind::kInputGradient, lane.stage, lane.backward++);
  }
  void weight_gradient(StageInList& lane) {
    add(ActionKind::kWeightGradient, lane.stage, lane.weight++);
  }
  void weight_gradient(int stage, int micro_batch) {
    add(ActionKind::kWeightGradient, stage, micro_batch);
  }
  void overlap(StageInList& forward, StageInList& backward) {
    lists_.add_overlap(forward.stage, forward.forward++, backward.stage, backward.backward++);
  }

  // `body` moves a count by one or not at all. One block for as long as it leaves out the same.
  template <class Body>
  void repeat(int times, Body body) {
    while (times > 0) {
      const int alike = std::min({times, until_end(near), until_end(far)});
      const StageInList near_before = near, far_before = far;
      lists_.repeat(alike, 1, body);
      advance(near, near_before, alike - 1);
      advance(far, far_before, alike - 1);
      times -= alike;
    }
  }

 private:
  // How many repetitions at least leave out none of this lane that the first has.
  [[nodiscard]] int until_end(const StageInList& lane) const {
    int least = std::numeric_limits<int>::max();
    for (const int next : {lane.forward, lane.backward, lane.weight}) {
      if (next < end_) least = std::min(least, end_ - next);
    }
    return least;
  }
  static void advance(StageInList& lane, const StageInList& before, int times) {
    lane.forward += times * (lane.forward - before.forward);
    lane.backward += times * (lane.backward - before.backward);
    lane.weight += times * (lane.weight - before.weight);
  }
  void add(ActionKind kind, int stage, int micro_batch) {
    if (micro_batch < end_) lists_.add(kind, stage, micro_batch);
  }

  ListBuilder& lists_;
  int end_;
};

}  // namespace penstock
