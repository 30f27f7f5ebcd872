// A TorchScript archive from its file. Private to training/torch.
#pragma once

#include <cstdint>
#include <string>

#include <torch/csrc/jit/api/module.h>

#include "core/values/model_description.h"

namespace penstock {

// On the CPU; parameters without requires_grad are frozen. Error{kBadInput} for what is no archive,
// for another one than the description was made of, and where all parameters are frozen.
torch::jit::Module load_archive(const ModelDescription& description);

// What an archive is tried out with: tokens [samples, tokens].
at::Tensor some_tokens(std::int64_t samples, std::int64_t tokens);

// The line of what LibTorch says that has the reason.
std::string reason_of(const std::exception& error);

}  // namespace penstock
