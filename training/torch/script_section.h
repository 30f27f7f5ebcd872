// Sections of a TorchScript archive: a piece of its forward, or all of the module where it cannot
// be divided. Private to training/torch.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <torch/csrc/jit/api/module.h>

#include "training/torch/archive_values.h"
#include "training/torch/script_flow.h"
#include "training/torch/section_module.h"

namespace penstock {

// A weight, and which of what the piece reads it is.
struct ScriptWeight {
  std::string name;   // in the archive
  at::Tensor tensor;  // frozen where it does not require a gradient
  std::vector<std::size_t> inputs;
};

struct ScriptPart {
  ScriptPiece piece;
  // As the piece reads them: the archive's own tensors, and None where it reads one of the model's
  // inputs.
  std::vector<c10::IValue> values;
  std::vector<std::string> names;
  std::vector<ScriptWeight> weights;
  std::vector<std::size_t> buffers;  // which of `values` it changes
};

struct SectionMode {
  // Its weights are to be bound before it runs, and not read from the archive.
  bool binds = false;
  at::Device device = at::Device("cpu");
  std::optional<at::ScalarType> type;  // of what is a floating-point tensor; nothing: as it is
  bool training = true;
};

// Of a module that is one section: masks and the like do not change.
bool is_kept(const at::Tensor& buffer);

// Held by whoever draws from the generator of the process: ranks may be its threads.
std::recursive_mutex& generator_lock();
// Of the CPU; the lock must be held.
void seed_generator(at::Device device, std::uint64_t seed);

// With copies of what it reads of the archive; weights are leaves.
std::unique_ptr<SectionModule> piece_section(const ScriptPart& part, const ArchiveValues& archive,
                                             const SectionMode& mode);
// Of the module itself; `weights` are its parameters, each once.
std::unique_ptr<SectionModule> whole_section(torch::jit::Module module,
                                             const std::vector<ScriptWeight>& weights,
                                             const SectionMode& mode);

}  // namespace penstock
