// Where the forward of a TorchScript module can be cut. Private to training/torch.
#pragma once

#include <string>
#include <vector>

#include <torch/csrc/jit/api/module.h>

namespace penstock {

// A submodule that is called once, with what the step before it made.
struct ChainStep {
  std::string name;  // "blocks.0"
  torch::jit::Module module;
};

// The steps of the module; those that are chains themselves taken apart once more. One step, the
// module itself with an empty name, where forward does anything else.
std::vector<ChainStep> chain_of(const torch::jit::Module& module);

}  // namespace penstock
