// What Megatron-LM is told of a model by flags, from its config.json.
#pragma once

#include <string>
#include <vector>

#include "trainers/exports/export_plan.h"

namespace penstock {

struct MegatronModel {
  std::vector<std::string> flags;    // "--hidden-size 4096", without the number of layers
  std::vector<std::string> differs;  // what Megatron-LM has no flag for, in words
};
MegatronModel megatron_model(const ModelConfig& model, int sequence_length);

}  // namespace penstock
