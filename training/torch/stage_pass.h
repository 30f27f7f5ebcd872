// One micro-batch on its way through one stage: F, then B, or I and some time later W; with R
// before them where F kept nothing but the stage's input.
//
// Every section computes from leaves of its own, cut off from the section before it, exactly as the
// profiler measures sections. So backward holds the gradients of one section's weights at a time,
// and I and W of a section that cannot be divided do not stop the others. What a section hands on
// untouched goes around it: its gradient is added to what the section itself makes of the tensor.
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

struct StageInput {
  Tensors handed;                  // by the stage before
  std::vector<bool> has_gradient;  // each of them
  Tensors inputs;                  // of the model, where a section reads them
};

class StagePass {
 public:
  // Told why a section of this name is not divided into I and W.
  using NotSplit = std::function<void(std::size_t section, const std::string& why)>;

  // `draw` names the random numbers of this micro-batch in this step.
  StagePass(StageState& state, StageInput input, LossTarget loss, std::uint64_t draw)
      : state_(state), input_(std::move(input)), loss_(std::move(loss)), draw_(draw) {}

  // F. Returns what the stage hands on, the loss in a stage that ends in it. Error{kBadInput} when
  // LibTorch refuses to compute a section, which it names.
  Tensors forward(bool keep_graph);
  // R: what forward() would have kept. Buffers stay as F left them.
  void recompute() { run_without_effects(true); }
  // What the stage hands on or the loss, where nothing is trained: buffers stay as they are.
  Tensors evaluate() { return run_without_effects(false); }
  [[nodiscard]] bool has_graph() const { return !sections_.empty(); }

  // B and I take a gradient per tensor that forward() returned, undefined for none, and return one
  // per tensor that the stage before handed on, undefined where there is none.
  Tensors fused_backward(Tensors gradients);
  Tensors input_backward(Tensors gradients, const NotSplit& not_split);
  void weight_backward();

 private:
  // What F leaves of one section.
  struct Section {
    ForwardGraph graph;
    std::size_t handed = 0;                                   // tensors that it was handed
    std::vector<std::size_t> inputs;                          // which of these have a gradient
    std::vector<std::size_t> outputs;                         // which of what it hands on
    std::vector<std::pair<std::size_t, std::size_t>> around;  // output, input: the same tensor
  };
  Tensors run(bool keep_graph);
  Tensors run_without_effects(bool keep_graph);
  Tensors run_section(std::size_t index, const Tensors& handed, bool keep_graph);
  [[nodiscard]] GradientSink sink(std::size_t section);
  // Takes the last section off, without the outputs that nobody has a gradient for.
  Section take_last(Tensors& gradients);
  static Tensors with_those_around(const Section& section, const Tensors& gradients,
                                   const Tensors& of_inputs);

  StageState& state_;
  StageInput input_;
  LossTarget loss_;
  std::uint64_t draw_;
  std::vector<Section> sections_;
  std::vector<DeferredWeights> deferred_;  // by section, the last one first
};

}  // namespace penstock
