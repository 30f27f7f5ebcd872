// What the forward of a model takes of a micro-batch, by the names of its arguments, which are
// those of Hugging Face. Private to training/torch.
#pragma once

#include <string>
#include <vector>

#include "training/torch/section_module.h"

namespace penstock {

// The first name that means nothing else takes the token ids; "targets" and "labels" take the
// targets; "decoder_input_ids" the targets, one later; "attention_mask" ones; "position_ids" 0, 1,
// 2, ... Error{kBadInput}, starting with `where`, for another name.
void check_inputs(const std::vector<std::string>& names, const std::string& where);
Tensors model_inputs(const std::vector<std::string>& names, const at::Tensor& tokens,
                     const at::Tensor& targets);

}  // namespace penstock
