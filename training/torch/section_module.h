// What lies between two cutpoints of a model, with weights, as LibTorch computes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/values/model_description.h"
#include "training/model_outline.h"

namespace penstock {

class SectionModule {
 public:
  virtual ~SectionModule() = default;
  // From token ids [samples, tokens] in the first section of a model, else from what the section
  // before it made.
  [[nodiscard]] virtual at::Tensor forward(const at::Tensor& input, std::uint64_t draw) = 0;
  // Whether it is to train, as it does at first, or to be judged. What it means is up to the model;
  // the built-in ones compute the same.
  virtual void set_training(bool /*training*/) {}
  // In the order of the outline; leaves of autograd's graph.
  [[nodiscard]] const std::vector<at::Tensor>& weights() const { return weights_; }
  // From now on the parameter lives in `storage`, which has its shape.
  virtual void bind(std::size_t parameter, const at::Tensor& storage) = 0;

 protected:
  std::vector<at::Tensor> weights_;
};

// Of a built-in family, with weights that are yet to be bound.
std::unique_ptr<SectionModule> built_in_section(const ModelDescription& description,
                                                const SectionOutline& outline);

// Cross entropy of the logits [samples, tokens, vocabulary], summed over the targets
// [samples, tokens] that count (are not kNoTarget), times `weight`. In single precision at least.
at::Tensor token_loss(const at::Tensor& logits, const at::Tensor& targets, double weight);

}  // namespace penstock
