// One micro-batch on its way through one stage: F, then B, or I and some time later W; with R
// before them where F kept nothing but the stage's input.
//
// Every section computes from a leaf of its own, cut off from the section before it, exactly as the
// profiler measures sections. So backward holds the gradients of one section's weights at a time,
// and I and W of a section that cannot be divided do not stop the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "training/torch/backward_split.h"
#include "training/torch/stage_state.h"

namespace penstock {

// What turns the last section's output into a loss.
struct LossTarget {
  at::Tensor targets;  // undefined: the stage does not end in a loss
  double weight = 1.0;
};

class StagePass {
 public:
  // Told why a section of this name is not divided into I and W.
  using NotSplit = std::function<void(std::size_t section, const std::string& why)>;

  // `draw` names the random numbers of this micro-batch in this step.
  StagePass(StageState& state, at::Tensor input, LossTarget loss, std::uint64_t draw)
      : state_(state), input_(std::move(input)), loss_(std::move(loss)), draw_(draw) {}

  // F. Returns what the stage makes, the loss in a stage that ends in it.
  at::Tensor forward(bool keep_graph);
  // R: what forward() would have kept.
  void recompute() { run(true); }
  [[nodiscard]] bool has_graph() const { return !graphs_.empty(); }

  // B and I take the gradient of what forward() returned and return that of the stage's input,
  // undefined where token ids come in.
  at::Tensor fused_backward(at::Tensor gradient);
  at::Tensor input_backward(at::Tensor gradient, const NotSplit& not_split);
  void weight_backward();

 private:
  at::Tensor run(bool keep_graph);
  [[nodiscard]] GradientSink sink(std::size_t section);

  StageState& state_;
  at::Tensor input_;
  LossTarget loss_;
  std::uint64_t draw_;
  std::vector<ForwardGraph> graphs_;       // by section
  std::vector<DeferredWeights> deferred_;  // by section, the last one first
};

}  // namespace penstock
