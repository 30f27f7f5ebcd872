// A forward runs section by section and detaches what is handed on; a backward takes the sections
// from the last to the first, each with the gradients of its outputs. A recompute is the same
// forward with the same draws. What a backward has used is freed at once, and what W needs waits in
// deferred_. Sections that are sharded one by one are whole while they compute: the next one's
// weights arrive meanwhile.
#include "training/torch/stage_pass.h"

#include <exception>
#include <utility>

#include <ATen/ATen.h>

#include "core/values/error.h"
#include "training/mixed_bits.h"
#include "training/torch/load_archive.h"

namespace penstock {

Tensors StagePass::forward(bool keep_graph) {
  Tensors outputs = run(keep_graph);
  for (at::Tensor& output : outputs) output = output.detach().contiguous();
  return outputs;
}

Tensors StagePass::run_without_effects(bool keep_graph) {
  Tensors kept;
  for (const auto& section : state_.sections()) {
    for (const at::Tensor& buffer : section->buffers()) kept.push_back(buffer.clone());
  }
  Tensors outputs = run(keep_graph);
  std::size_t next = 0;
  for (const auto& section : state_.sections()) {
    // Not in place: a batch norm's backward would notice.
    for (at::Tensor buffer : section->buffers()) buffer.set_data(kept[next++]);
  }
  for (at::Tensor& output : outputs) output = output.detach().contiguous();
  return outputs;
}

Tensors StagePass::run(bool keep_graph) {
  const at::AutoGradMode grad_mode(keep_graph);
  const std::size_t count = state_.sections().size();
  sections_.reserve(keep_graph ? count : 0);
  Tensors handed;
  handed.reserve(input_.handed.size());
  for (std::size_t i = 0; i < input_.handed.size(); ++i) {
    handed.push_back(input_.handed[i].detach());
    handed.back().set_requires_grad(keep_graph && input_.has_gradient[i]);
  }
  SectionShards& shards = state_.shards();
  for (std::size_t i = 0; i < count; ++i) {
    shards.gather(i);
    if (i + 1 < count) shards.begin_gather(i + 1);
    Tensors outputs = run_section(i, handed, keep_graph);
    // The backward begins with the last one.
    if (i + 1 < count || !keep_graph) shards.let_go(i);
    if (i + 1 == count) {
      if (keep_graph) input_ = {};  // from here on the graphs hold what they need of it
      return outputs;
    }
    handed.clear();
    for (const at::Tensor& output : outputs) {
      handed.push_back(output.detach());
      handed.back().set_requires_grad(keep_graph && output.requires_grad());
    }
  }
  return handed;
}

Tensors StagePass::run_section(std::size_t index, const Tensors& handed, bool keep_graph) {
  const auto number = static_cast<std::uint64_t>(state_.setup().first_section) + index;
  SectionModule& module = *state_.sections()[index];
  Tensors outputs;
  try {
    outputs = module.forward(handed, input_.inputs, mixed_bits({draw_, number}));
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw_bad_input("section " + state_.name_of(index) + ": LibTorch cannot compute it (" +
                    reason_of(error) +
                    "); a trace keeps types and sizes that it was made with: script the module, or "
                    "trace it as it is trained");
  }
  if (index + 1 == state_.sections().size() && loss_.targets.defined()) {
    outputs = {token_loss(outputs[0], loss_.targets, loss_.weight)};
  }
  if (!keep_graph) return outputs;
  Section section;
  section.handed = handed.size();
  Tensors inputs, ends;
  for (std::size_t i = 0; i < handed.size(); ++i) {
    if (!handed[i].requires_grad()) continue;
    section.inputs.push_back(i);
    inputs.push_back(handed[i]);
  }
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (!outputs[o].requires_grad()) continue;
    bool is_around = false;
    for (std::size_t i = 0; i < handed.size() && !is_around; ++i) {
      is_around = outputs[o].is_same(handed[i]);
      if (is_around) section.around.emplace_back(o, i);
    }
    if (is_around) continue;
    section.outputs.push_back(o);
    ends.push_back(outputs[o]);
  }
  section.graph = forward_graph(std::move(inputs), ends, state_.trained_weights(index));
  sections_.push_back(std::move(section));
  return outputs;
}

GradientSink StagePass::sink(std::size_t section) {
  return [this, section](std::size_t weight, const at::Tensor& gradient) {
    state_.add_gradient(section, weight, gradient);
  };
}

StagePass::Section StagePass::take_last(Tensors& gradients) {
  Section section = std::move(sections_.back());
  sections_.pop_back();
  std::vector<torch::autograd::Edge> ends;
  std::vector<std::size_t> outputs;
  for (std::size_t k = 0; k < section.outputs.size(); ++k) {
    if (!gradients[section.outputs[k]].defined()) continue;
    outputs.push_back(section.outputs[k]);
    ends.push_back(section.graph.outputs[k]);
  }
  section.outputs = std::move(outputs);
  section.graph.outputs = std::move(ends);
  return section;
}

Tensors StagePass::with_those_around(const Section& section, const Tensors& gradients,
                                     const Tensors& of_inputs) {
  Tensors all(section.handed);
  for (std::size_t k = 0; k < section.inputs.size(); ++k) all[section.inputs[k]] = of_inputs[k];
  for (const auto& [output, input] : section.around) {
    if (!gradients[output].defined()) continue;
    all[input] = all[input].defined() ? all[input] + gradients[output] : gradients[output];
  }
  return all;
}

namespace {

Tensors chosen(const Tensors& gradients, const std::vector<std::size_t>& which) {
  Tensors some;
  some.reserve(which.size());
  for (const std::size_t i : which) some.push_back(gradients[i]);
  return some;
}

}  // namespace

Tensors StagePass::fused_backward(Tensors gradients) {
  SectionShards& shards = state_.shards();
  while (!sections_.empty()) {
    Section section = take_last(gradients);
    const std::size_t index = sections_.size();
    shards.gather(index);
    if (index > 0) shards.begin_gather(index - 1);
    shards.begin_gradient(index);
    const Tensors of_inputs = penstock::fused_backward(
        std::move(section.graph), chosen(gradients, section.outputs), sink(index));
    shards.let_go(index);
    shards.reduce(index);
    gradients = with_those_around(section, gradients, of_inputs);
  }
  shards.finish_reduction();
  return gradients;
}

Tensors StagePass::input_backward(Tensors gradients, const NotSplit& not_split) {
  if (state_.shards().reduces()) {
    throw Error(ErrorKind::kInternal, "a divided backward of sections that reduce their gradients");
  }
  deferred_.reserve(sections_.size());
  while (!sections_.empty()) {
    Section section = take_last(gradients);
    const std::size_t index = sections_.size();
    SplitBackward split = penstock::input_backward(std::move(section.graph),
                                                   chosen(gradients, section.outputs), sink(index));
    if (!split.not_split.empty()) not_split(index, split.not_split);
    deferred_.push_back(std::move(split.weights));
    gradients = with_those_around(section, gradients, split.input_gradients);
  }
  return gradients;
}

void StagePass::weight_backward() {
  for (std::size_t i = 0; i < deferred_.size(); ++i) {
    deferred_[i].run(sink(deferred_.size() - 1 - i));
  }
  deferred_.clear();
}

}  // namespace penstock
