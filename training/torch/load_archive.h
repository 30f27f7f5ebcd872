// A TorchScript archive from its file. Private to training/torch.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>

#include <torch/csrc/jit/api/module.h>

#include "core/values/model_description.h"
#include "training/torch/archive_values.h"

namespace penstock {

struct LoadedArchive {
  torch::jit::Module module;
  // What its tensors hold is there at once, or else read from here.
  std::shared_ptr<const ArchiveValues> values;
};

// On the CPU; parameters without requires_grad are frozen. Where it can be, values are left in the
// file. Error{kBadInput} for what is no archive, for another one than the description was made of,
// and where all parameters are frozen.
LoadedArchive open_archive(const ModelDescription& description);
// With all values.
torch::jit::Module load_archive(const ModelDescription& description);
// What LibTorch compiles keeps a module alive, in a circle; its tensors and gradients need not
// stay.
void let_go_of_tensors(const torch::jit::Module& module);

// What the archive was saved to compute in: the type of its first weight that is no integer.
at::ScalarType own_type(const torch::jit::Module& module);

// The line of what LibTorch says that has the reason.
std::string reason_of(const std::exception& error);

}  // namespace penstock
