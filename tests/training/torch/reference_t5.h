// The loss of an encoder-decoder model, written without a look at training/torch: head by head, key
// by key where it matters, nothing padded.
#pragma once

#include <vector>

#include <torch/torch.h>

#include "core/values/model_description.h"

namespace penstock::testing {

// The sum of -log p over the targets. `weights` by section and parameter, as in the outline.
torch::Tensor t5_loss(const ModelDescription& model,
                      const std::vector<std::vector<torch::Tensor>>& weights,
                      const torch::Tensor& tokens, const torch::Tensor& targets);

}  // namespace penstock::testing
