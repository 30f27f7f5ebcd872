// Backward of one section in two parts: I, which makes the gradient of the section's input, and W,
// which makes those of its weights, any time later. The engine skips what is not asked for, so I
// really costs only I. After pytorch/pytorch torch/distributed/pipelining/_backward.py, with two
// corrections that are said where they are made.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/edge.h>

namespace penstock {

// What F leaves for the backward of one section. Of the outputs only their places in the graph are
// kept, so that their values can go once they have been sent.
struct ForwardGraph {
  std::vector<at::Tensor> inputs;  // leaves that require a gradient; none where token ids come in
  std::vector<torch::autograd::Edge> outputs;
  std::vector<at::Tensor> weights;
};
// Of outputs and weights that require a gradient.
ForwardGraph forward_graph(std::vector<at::Tensor> inputs, const std::vector<at::Tensor>& outputs,
                           std::vector<at::Tensor> weights);

// Takes the gradient of a weight; called at most once per weight and backward.
using GradientSink = std::function<void(std::size_t weight, const at::Tensor& gradient)>;

// B: takes a gradient per output and returns one per input, undefined where nothing reads it. The
// graph is used up.
std::vector<at::Tensor> fused_backward(ForwardGraph graph,
                                       const std::vector<at::Tensor>& output_gradients,
                                       const GradientSink& add);

// What I leaves for W: for each group of weights the nodes where it begins, with the gradients that
// arrived there. Holds the part of the graph that W needs, and no more.
class DeferredWeights {
 public:
  struct Group {
    std::vector<torch::autograd::Edge> roots;
    std::vector<at::Tensor> gradients;
    std::vector<std::size_t> weights;
    std::vector<torch::autograd::Edge> accumulators;  // of these weights
  };
  DeferredWeights() = default;
  explicit DeferredWeights(std::vector<Group> groups) : groups_(std::move(groups)) {}
  [[nodiscard]] bool empty() const { return groups_.empty(); }
  // W. Afterwards nothing is held.
  void run(const GradientSink& add);

 private:
  std::vector<Group> groups_;
};

struct SplitBackward {
  std::vector<at::Tensor> input_gradients;  // as fused_backward() returns them
  DeferredWeights weights;
  // Not empty: why this graph cannot be split. All was done at once, and W is empty.
  std::string not_split;
};
// I. The graph is used up, but for what W needs.
SplitBackward input_backward(ForwardGraph graph, const std::vector<at::Tensor>& output_gradients,
                             const GradientSink& add);

}  // namespace penstock
