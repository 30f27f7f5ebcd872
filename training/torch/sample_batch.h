// Samples as the tensors that a model takes. Private to training/torch.
#pragma once

#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/values/batch.h"
#include "core/values/model_description.h"
#include "training/token_source.h"

namespace penstock {

// Token ids [samples, tokens] with as many targets, or [samples, decoder tokens] of these, padded
// to the lengths of `shape`, ids with kPadding and targets with kNoTarget; or images [samples,
// channels, height, width] in the type that the model computes in, bytes as shares of 255, with
// targets [samples].
std::pair<at::Tensor, at::Tensor> batch_of(const std::vector<TokenSample>& samples,
                                           const ModelDescription& model,
                                           const MicroBatchShape& shape, at::Device device);

}  // namespace penstock
