// Sections of a TorchScript archive: a piece of its forward, or all of the module where it cannot
// be divided. Private to training/torch.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <torch/csrc/jit/api/module.h>

#include "training/torch/script_flow.h"
#include "training/torch/section_module.h"

namespace penstock {

// A weight, and the inputs of the piece that it is, counted without the first.
struct ScriptWeight {
  std::string name;  // in the archive
  at::Tensor tensor;
  std::vector<std::size_t> inputs;
};

struct ScriptPart {
  ScriptPiece piece;
  std::vector<c10::IValue> values;  // of the piece's attributes; the archive's own tensors
  std::vector<std::string> names;   // of these
  std::vector<ScriptWeight> weights;
};

struct SectionMode {
  at::Device device = at::Device("cpu");
  std::optional<at::ScalarType> type;  // of what is a floating-point tensor; nothing: as it is
  bool training = true;
};

// With copies of the part's weights as leaves.
std::unique_ptr<SectionModule> piece_section(const ScriptPart& part, const SectionMode& mode);
// Of a copy of the module; `weights` are its parameters, each once.
std::unique_ptr<SectionModule> whole_section(const torch::jit::Module& module,
                                             const std::vector<ScriptWeight>& weights,
                                             const SectionMode& mode);

// The same without a copy and without gradients.
at::Tensor run_piece(const ScriptPart& part, const at::Tensor& input);

}  // namespace penstock
