// One step over a chain: forward through it, then backward through it, twice. Private to profiler/.
//
// An observer sees every action:
//   action(kind, stage, call)           must call call()
//   leaves(stage, micro_batch)          the stage's output or input gradient is about to be handed
//   on left(stage)                         and is now the neighbour's
#pragma once

#include "core/values/action_kind.h"
#include "profiler/chain_to_measure.h"
#include "training/rank_work.h"

namespace penstock {

template <class Observer>
class ChainRun {
 public:
  ChainRun(const ChainToMeasure& chain, RankWork& work, Observer& observer)
      : chain_(chain), work_(work), observer_(observer) {}

  void fused() {
    forward(kFusedMicroBatch);
    backward(ActionKind::kFusedBackward, kFusedMicroBatch);
  }

  // W behind all input gradients, because schedules that split the backward put W off.
  void split() {
    forward(kSplitMicroBatch);
    backward(ActionKind::kInputGradient, kSplitMicroBatch);
    for (int stage = chain_.stages() - 1; stage >= 0; --stage) {
      run(ActionKind::kWeightGradient, stage, kSplitMicroBatch);
    }
  }

  void update_weights() {
    observer_.action(ActionKind::kNorm, 0, [&] { work_.set_global_norm(work_.norm_share()); });
    for (int stage = 0; stage < chain_.stages(); ++stage) {
      observer_.action(ActionKind::kOptimizer, stage, [&] { work_.optimize(stage); });
    }
  }

 private:
  void run(ActionKind kind, int stage, int micro_batch) {
    observer_.action(kind, stage, [&] { work_.compute(kind, stage, micro_batch); });
  }

  void forward(int micro_batch) {
    for (int stage = 0; stage < chain_.stages(); ++stage) {
      run(ActionKind::kForward, stage, micro_batch);
      if (stage + 1 == chain_.stages()) continue;
      observer_.leaves(stage, micro_batch);
      work_.hand_on_activation(stage, micro_batch);
      observer_.left(stage);
    }
  }

  void backward(ActionKind kind, int micro_batch) {
    for (int stage = chain_.stages() - 1; stage >= 0; --stage) {
      if (chain_.recompute) run(ActionKind::kRecompute, stage, micro_batch);
      run(kind, stage, micro_batch);
      if (stage > 0) work_.hand_on_gradient(stage, micro_batch);
      observer_.left(stage);
    }
  }

  const ChainToMeasure& chain_;
  RankWork& work_;
  Observer& observer_;
};

}  // namespace penstock
