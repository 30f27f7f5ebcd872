// What the forward of a model takes of a micro-batch, by the names of its arguments, which are
// those of Hugging Face. Private to training/torch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/values/model_description.h"
#include "training/torch/section_module.h"

namespace penstock {

// The first name that means nothing else takes the token ids or images; "targets" and "labels" take
// the targets; of text "decoder_input_ids" the targets, one later; "attention_mask" ones;
// "position_ids" 0, 1, 2, ... Error{kBadInput}, starting with `where`, for another name.
void check_inputs(const std::vector<std::string>& names, const ModelDescription& model,
                  const std::string& where);
Tensors model_inputs(const std::vector<std::string>& names, const at::Tensor& tokens,
                     const at::Tensor& targets);

// What an archive is tried out with: so many samples of so many tokens, or images of this type.
Tensors trial_inputs(const std::vector<std::string>& names, const ModelDescription& model,
                     std::int64_t samples, std::int64_t tokens, at::ScalarType type);

}  // namespace penstock
