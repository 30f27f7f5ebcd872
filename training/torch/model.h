// A model by its description: what its sections are, and sections with weights.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/values/model_description.h"
#include "training/model_outline.h"
#include "training/torch/section_module.h"

namespace penstock {

// A tensor that a section hands on.
struct BoundaryTensor {
  std::vector<std::int64_t> shape;
  at::ScalarType type = at::kFloat;
  bool has_gradient = true;
};
using Boundary = std::vector<BoundaryTensor>;

// How many samples of how many tokens, and for how many the decoder is asked where it has a length
// of its own, computed in which type.
struct BoundaryShape {
  std::int64_t samples = 1, tokens = 1;
  at::ScalarType type = at::kFloat;
  std::int64_t decoder_tokens = 0;
};

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
  // What a section hands on: all that later sections read of it and of those before it.
  [[nodiscard]] virtual Boundary boundary(int section, const BoundaryShape& shape) const = 0;
  // The names of the model's inputs, and whether a section reads any.
  [[nodiscard]] virtual std::vector<std::string> inputs() const { return {"tokens"}; }
  [[nodiscard]] virtual bool reads_inputs(int section) const { return section == 0; }
  // Error{kBadInput} unless the sections, one after the other, compute exactly what the whole model
  // computes, gradients included.
  virtual void check_division(std::int64_t tokens) const = 0;
  // What a person should know of a model that is trained, a sentence each. It may run the whole.
  [[nodiscard]] virtual std::vector<std::string> remarks(std::int64_t /*tokens*/) const {
    return {};
  }
  // What the sections of an archive hand on, for ModelDescription::division.
  [[nodiscard]] virtual std::optional<ArchiveDivision> division(std::int64_t /*tokens*/) const {
    return std::nullopt;
  }
};

std::unique_ptr<Model> make_model(const ModelDescription& description);

}  // namespace penstock
