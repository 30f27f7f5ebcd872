// What a config.json says of experts: how many and how wide, and which layers have them.
#pragma once

#include <optional>
#include <vector>

#include "core/architecture.h"
#include "core/config_fields.h"
#include "core/known_families.h"

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
