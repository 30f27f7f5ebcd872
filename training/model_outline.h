// What a model is made of, without its weights: sections along the model, their parameters, which
// of them are shared. The built-in families are described here once; what builds them
// (training/torch), what profiles them and what stores them agree by it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/values/model_description.h"
#include "training/buffer.h"

namespace penstock {

struct ParameterOutline {
  std::string name;  // within the section: "attention.qkv.weight"
  std::vector<std::int64_t> shape;
  // Initial values are uniform in centre +- spread.
  double centre = 0.0, spread = 0.0;
  bool frozen = false;  // not trained: no gradient, nothing that the optimizer keeps
  // Weight decay is for matrices, not for biases and norms.
  [[nodiscard]] bool decays() const { return shape.size() > 1; }
  [[nodiscard]] std::int64_t count() const;
  bool operator==(const ParameterOutline&) const = default;
};

// What forward changes without a gradient: running means of a batch norm.
struct BufferOutline {
  std::string name;  // within the section
  std::vector<std::int64_t> shape;
  ElementType type = ElementType::kFloat32;
  [[nodiscard]] std::int64_t count() const;
  bool operator==(const BufferOutline&) const = default;
};

struct SectionOutline {
  std::string name;  // "embedding", "block.0", "head"
  std::string type;  // "embedding", "block", "head": equal ones cost the same
  std::vector<ParameterOutline> parameters;
  std::vector<BufferOutline> buffers{};
  // Those that are trained, and those that are not.
  [[nodiscard]] std::int64_t parameter_count() const;
  [[nodiscard]] std::int64_t frozen_count() const;
  [[nodiscard]] std::int64_t buffer_bytes() const;
  bool operator==(const SectionOutline&) const = default;
};

// One tensor that several sections use.
struct TieOutline {
  std::string name;
  std::vector<int> sections;    // ascending
  std::vector<int> parameters;  // which one it is in each of them
  bool operator==(const TieOutline&) const = default;
};

struct ModelOutline {
  std::vector<SectionOutline> sections;
  std::vector<TieOutline> ties;
  [[nodiscard]] std::int64_t tied_parameter_count(const TieOutline& tie) const;
  bool operator==(const ModelOutline&) const = default;
};

// Whether sections of this type of a built-in family know the decoder's length.
bool knows_decoder(const std::string& section_type);

// Of a built-in family. Error{kBadInput} for sizes that no model can have, saying which; for an
// archive, whose outline is in the archive (training/torch/describe_model.h).
ModelOutline built_in_outline(const ModelDescription& description);

}  // namespace penstock
