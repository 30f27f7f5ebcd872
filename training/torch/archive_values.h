// The tensors of a TorchScript archive, which stay in its file until somebody wants one: a rank
// holds the sections of its stages, and the archive all of them. Private to training/torch.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include <torch/csrc/jit/api/module.h>

#include "training/archive_file.h"

namespace penstock {

class ArchiveValues {
 public:
  explicit ArchiveValues(const std::string& path) : file_(path) {}

  // The module with everything but the values of its tensors: they have memory, which nobody has
  // written to, so that the operating system has given no pages for it. Nothing where the module
  // must have them all at once: its classes make themselves anew when they are loaded, or tensors
  // lie where nobody would find them.
  std::optional<torch::jit::Module> load();

  // With its value, in memory of its own. A tensor that is not of that module is returned as it is.
  [[nodiscard]] at::Tensor read(const at::Tensor& tensor) const;

 private:
  class Adapter;
  [[nodiscard]] bool knows(const at::Tensor& tensor) const;
  [[nodiscard]] bool knows_all(const torch::jit::Module& module) const;

  ArchiveFile file_;
  std::map<const void*, std::size_t> places_;  // of memory without values: its record
};

}  // namespace penstock
