// What lies between two cutpoints of a model, with weights, as LibTorch computes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/values/model_description.h"
#include "training/model_outline.h"

namespace penstock {

using Tensors = std::vector<at::Tensor>;

class SectionModule {
 public:
  virtual ~SectionModule() = default;
  // From what the section before it hands on, nothing in the first section of a model, and the
  // model's inputs, which may be left out where the section reads none. What it hands on untouched
  // it returns as the same tensor. `draw` names the random numbers; without, they are the next ones
  // of the process.
  [[nodiscard]] virtual Tensors forward(const Tensors& handed, const Tensors& inputs,
                                        std::optional<std::uint64_t> draw) = 0;
  // Whether it is to train, as it does at first, or to be judged. What it means is up to the model;
  // the built-in ones compute the same.
  virtual void set_training(bool /*training*/) {}
  // In the order of the outline; leaves of autograd's graph.
  [[nodiscard]] const std::vector<at::Tensor>& weights() const { return weights_; }
  // What forward changes without a gradient, in the order of the outline.
  [[nodiscard]] const std::vector<at::Tensor>& buffers() const { return buffers_; }
  // From now on the parameter lives in `storage`, which has its shape.
  virtual void bind(std::size_t parameter, const at::Tensor& storage) = 0;

 protected:
  std::vector<at::Tensor> weights_, buffers_;
};

// Of a built-in family, with weights that are yet to be bound.
std::unique_ptr<SectionModule> built_in_section(const ModelDescription& description,
                                                const SectionOutline& outline);

// Cross entropy of the logits [samples, tokens, vocabulary], summed over the targets
// [samples, tokens] that count (are not kNoTarget), times `weight`; of images the logits are
// [samples, classes] and the targets [samples]. In single precision at least.
// A model that returns one number has worked out the mean of these itself.
at::Tensor token_loss(const at::Tensor& logits, const at::Tensor& targets, double weight);

}  // namespace penstock
