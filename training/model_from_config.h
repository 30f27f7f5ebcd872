// A Hugging Face config.json as a ModelDescription. Nothing in it is executed; only sizes are read.
#pragma once

#include <string>
#include <vector>

#include "core/values/json.h"
#include "core/values/model_description.h"

namespace penstock {

struct ConfiguredModel {
  ModelDescription description;
  // What the architecture has and the built-in family has not: "rotary positions (rope_theta)",
  // ...: times and parameters of the one are not those of the other.
  std::vector<std::string> differences;
};

// Error{kBadInput} for an architecture that is not known, naming it and those that are, and for
// sizes that are missing or that no model has.
ConfiguredModel model_from_config(const Json& json, const std::string& file);

}  // namespace penstock
