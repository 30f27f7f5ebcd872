// A TorchScript archive as a Model. Private to training/torch.
#pragma once

#include <memory>

#include "training/torch/model.h"

namespace penstock {

// The archive is divided at the description's cutpoints; without any it is one section. It takes
// token ids [samples, tokens] and makes logits [samples, tokens, vocabulary]. Load trusted files
// only.
std::unique_ptr<Model> make_script_model(const ModelDescription& description);

}  // namespace penstock
