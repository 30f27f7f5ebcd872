// The weights of a TorchScript archive, each once. Private to training/torch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "training/torch/script_section.h"

namespace penstock {

// Memory, sizes and strides: the same storage under two names is one weight.
using TensorKey = std::tuple<const void*, std::vector<std::int64_t>, std::vector<std::int64_t>>;

struct ArchiveWeight {
  std::string name;  // the first of its names
  at::Tensor tensor;
  std::size_t order = 0;  // in the module
};
using ArchiveWeights = std::map<TensorKey, ArchiveWeight>;

ArchiveWeights weights_of(const torch::jit::Module& module);

// In the module's order.
std::vector<ScriptWeight> all_weights(const ArchiveWeights& weights);
// Those that the part reads, and where.
std::vector<ScriptWeight> weights_among(const ScriptPart& part, const ArchiveWeights& weights);

}  // namespace penstock
