// What a config.json says of experts: how many and how wide, and which layers have them.
#pragma once

#include <optional>
#include <vector>

#include "core/files/config_fields.h"
#include "core/files/known_families.h"
#include "core/values/architecture.h"

namespace penstock {

struct ExpertFields {
  ConfigFields& fields;      // of the language model
  ConfigFields& perceptron;  // where the file nests it, else the same
  const KnownFamily& family;
  int layers = 1;
  int usual_width = 1;  // of an expert where the file does not say
};
struct ExpertLayers {
  Experts experts;
  std::vector<int> dense_layers;  // ascending
};
// Nothing where there are none, or one. Error{kBadInput} as read_architecture().
std::optional<ExpertLayers> read_expert_layers(const ExpertFields& from);

}  // namespace penstock
