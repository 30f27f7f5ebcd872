// Trainers by the names that people give them: "Megatron-LM", "nemo", "fsdp".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/values/trainer.h"
#include "trainers/trainer_row.h"

namespace penstock {

// The name that Penstock has for it ("Megatron-LM" is "megatron"); else the name as it is.
std::string trainer_called(const std::string& name);

// The same of what a job is written for: NeMo's recipes are Megatron-Bridge's.
std::string exported_trainer_called(const std::string& name);

// What to do where nothing of this name can be planned for or exported to: what the name means, or
// the nearest of `known`; `option` takes such names.
std::string help_for_trainer(std::string_view option, const std::string& name,
                             const std::vector<std::string>& known);

// A version of the trainer that is known: "v0.2.1" is 0.2. Error{kBadInput} of --target-version.
std::string version_called(const TrainerRow& trainer, const std::string& asked);

// Of --for; Error{kBadInput} with the next step.
const Trainer& parse_trainer(const std::string& name);

}  // namespace penstock
