// The sections of a model as trainers count them: what comes before the layers (embedding), the
// layers, told by their names, and what follows them (norm, head).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/values/plan.h"

namespace penstock {

struct ModelLayers {
  int front = 0, layers = 0, back = 0;  // sections of each
};
// Layers are sections named STEM.0, STEM.1, ...; nothing when no sections are named so.
std::optional<ModelLayers> model_layers(const std::vector<std::string>& sections);
inline constexpr std::string_view kNoLayers =
    "its layers are told by their names (layer.0, layer.1, ...), and the sections of this model "
    "have none such";

// What one stage holds of them.
struct StageLayers {
  int front = 0, back = 0;   // sections
  int first = 0, count = 0;  // layers
};
StageLayers layers_of_stage(const ModelLayers& model, const Plan& plan, int stage);

}  // namespace penstock
