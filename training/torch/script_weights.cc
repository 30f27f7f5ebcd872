#include "training/torch/script_weights.h"

#include <utility>

namespace penstock {
namespace {

TensorKey key_of(const at::Tensor& tensor) {
  const void* const place = tensor.numel() > 0 ? tensor.data_ptr() : tensor.unsafeGetTensorImpl();
  return {place, tensor.sizes().vec(), tensor.strides().vec()};
}

std::vector<ScriptWeight> in_order(std::map<std::size_t, ScriptWeight> by_order) {
  std::vector<ScriptWeight> sorted;
  sorted.reserve(by_order.size());
  for (auto& [order, weight] : by_order) sorted.push_back(std::move(weight));
  return sorted;
}

}  // namespace

ArchiveWeights weights_of(const torch::jit::Module& module) {
  ArchiveWeights weights;
  for (const auto& parameter : module.named_parameters()) {
    weights.try_emplace(key_of(parameter.value),
                        ArchiveWeight{parameter.name, parameter.value, weights.size()});
  }
  return weights;
}

std::vector<ScriptWeight> all_weights(const ArchiveWeights& weights) {
  std::map<std::size_t, ScriptWeight> all;
  for (const auto& [key, weight] : weights) all[weight.order] = {weight.name, weight.tensor, {}};
  return in_order(std::move(all));
}

std::vector<ScriptWeight> weights_among(const ScriptPart& part, const ArchiveWeights& weights) {
  std::map<std::size_t, ScriptWeight> found;
  for (std::size_t i = 0; i < part.values.size(); ++i) {
    if (!part.values[i].isTensor() || !part.values[i].toTensor().defined()) continue;
    const auto weight = weights.find(key_of(part.values[i].toTensor()));
    if (weight == weights.end()) continue;
    ScriptWeight& own = found[weight->second.order];
    own.name = weight->second.name;
    own.tensor = weight->second.tensor;
    own.inputs.push_back(i);
  }
  return in_order(std::move(found));
}

}  // namespace penstock
