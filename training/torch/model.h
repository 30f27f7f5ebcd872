// A model by its description: what its sections are, and sections with weights.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/values/model_description.h"
#include "training/model_outline.h"
#include "training/torch/section_module.h"

namespace penstock {

class Model {
 public:
  virtual ~Model() = default;
  [[nodiscard]] virtual const ModelOutline& outline() const = 0;
  // Computes there and in this type. Its weights are yet to be bound.
  [[nodiscard]] virtual std::unique_ptr<SectionModule> section(int index, at::Device device,
                                                               at::ScalarType type) const = 0;
  // What a weight starts with, on the CPU, of the type that the optimizer steps.
  [[nodiscard]] virtual at::Tensor initial(int section, int parameter, std::uint64_t seed,
                                           at::ScalarType type) const = 0;
  // Of what a section makes of so many samples of so many tokens.
  [[nodiscard]] virtual std::vector<std::int64_t> output_shape(int section, std::int64_t samples,
                                                               std::int64_t tokens) const = 0;
  // Error{kBadInput} unless the sections, one after the other, compute exactly what the whole model
  // computes, gradients included.
  virtual void check_division(std::int64_t tokens) const = 0;
};

std::unique_ptr<Model> make_model(const ModelDescription& description);

}  // namespace penstock
