#include "training/torch/stage_pass.h"

#include <utility>

#include <ATen/core/grad_mode.h>

#include "training/mixed_bits.h"

namespace penstock {

at::Tensor StagePass::forward(bool keep_graph) {
  at::Tensor output = run(keep_graph);
  return output.detach().contiguous();
}

at::Tensor StagePass::run(bool keep_graph) {
  const at::AutoGradMode grad_mode(keep_graph);
  const auto& sections = state_.sections();
  graphs_.reserve(keep_graph ? sections.size() : 0);
  at::Tensor x = input_;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    at::Tensor leaf = x.detach();
    leaf.set_requires_grad(keep_graph && leaf.is_floating_point());
    const auto section = static_cast<std::uint64_t>(state_.setup().first_section) + i;
    x = sections[i]->forward(leaf, mixed_bits({draw_, section}));
    if (i + 1 == sections.size() && loss_.targets.defined()) {
      x = token_loss(x, loss_.targets, loss_.weight);
    }
    if (keep_graph) graphs_.push_back(forward_graph(leaf, x, sections[i]->weights()));
  }
  if (keep_graph) input_.reset();  // from here on the graphs hold what they need of it
  return x;
}

GradientSink StagePass::sink(std::size_t section) {
  return [this, section](std::size_t weight, const at::Tensor& gradient) {
    state_.add_gradient(section, weight, gradient);
  };
}

at::Tensor StagePass::fused_backward(at::Tensor gradient) {
  while (!graphs_.empty()) {
    ForwardGraph graph = std::move(graphs_.back());
    graphs_.pop_back();
    gradient = penstock::fused_backward(std::move(graph), gradient, sink(graphs_.size()));
  }
  return gradient;
}

at::Tensor StagePass::input_backward(at::Tensor gradient, const NotSplit& not_split) {
  deferred_.reserve(graphs_.size());
  while (!graphs_.empty()) {
    ForwardGraph graph = std::move(graphs_.back());
    graphs_.pop_back();
    const std::size_t section = graphs_.size();
    SplitBackward split = penstock::input_backward(std::move(graph), gradient, sink(section));
    if (!split.not_split.empty()) not_split(section, split.not_split);
    deferred_.push_back(std::move(split.weights));
    gradient = std::move(split.input_gradient);
  }
  return gradient;
}

void StagePass::weight_backward() {
  for (std::size_t i = 0; i < deferred_.size(); ++i) {
    deferred_[i].run(sink(deferred_.size() - 1 - i));
  }
  deferred_.clear();
}

}  // namespace penstock
