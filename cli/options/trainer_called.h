// Trainers by the names that people give them: "Megatron-LM", "nemo", "fsdp".
#pragma once

#include <string>

#include "core/values/trainer.h"

namespace penstock {

// The name that Penstock has for it ("Megatron-LM" is "megatron"); else the name as it is.
std::string trainer_called(const std::string& name);

// What to do where nothing of this name can be planned for or exported to: what the name means, or
// the nearest of `known`.
std::string help_for_trainer(const std::string& name, const std::vector<std::string>& known);

// Of --for; Error{kBadInput} with the next step.
const Trainer& parse_trainer(const std::string& name);

}  // namespace penstock
